// Does with libgearman what standard input asks for (see bridge/actor.py). Arguments: HOST PORT.
#include <ctype.h>
#include <stdarg.h>

#include "peer.h"

enum { kFields = 8 };

struct request {
  int count;
  char* field[kFields];
  size_t size[kFields];
};

static char line[1 << 20];

static size_t decode(char* text) {
  char* out = text;
  for (char* in = text; *in != '\0'; in++, out++) {
    unsigned byte = 0;
    if (*in == '%' && sscanf(in + 1, "%2x", &byte) == 1) {
      *out = (char)byte;
      in += 2;
    } else {
      *out = *in;
    }
  }
  *out = '\0';
  return (size_t)(out - text);
}

static struct request read_request(void) {
  struct request request = {0, {0}, {0}};
  if (fgets(line, sizeof(line), stdin) == NULL) _exit(0);
  line[strcspn(line, "\n")] = '\0';
  char* rest = line;
  while (rest != NULL && request.count < kFields) {
    char* field = strsep(&rest, "\t");
    request.field[request.count] = field;
    request.size[request.count++] = decode(field);
  }
  return request;
}

static void print_bytes(const void* data, size_t size) {
  const unsigned char* bytes = data;
  for (size_t i = 0; i < size; i++) {
    if (isalnum(bytes[i]) || (bytes[i] != 0 && strchr("_.:/$-", bytes[i]) != NULL)) {
      putchar(bytes[i]);
    } else {
      printf("%%%02X", bytes[i]);
    }
  }
}

// One line: its kind and word, `count` texts, and bytes unless they are NULL.
static void say(const char* start, const void* bytes, size_t size, int count, ...) {
  fputs(start, stdout);
  va_list texts;
  va_start(texts, count);
  for (int i = 0; i < count; i++) {
    const char* text = va_arg(texts, const char*);
    putchar('\t');
    print_bytes(text, strlen(text));
  }
  va_end(texts);
  if (bytes != NULL) {
    putchar('\t');
    print_bytes(bytes, size);
  }
  putchar('\n');
  fflush(stdout);
}

static void say_data(const char* start, const gearman_task_st* task) {
  const void* data = gearman_task_data(task);
  say(start, data == NULL ? "" : data, data == NULL ? 0 : gearman_task_data_size(task), 0);
}

static bool ended;

static gearman_return_t on_created(gearman_task_st* task) {
  say("+created", NULL, 0, 1, gearman_task_job_handle(task));
  return GEARMAN_SUCCESS;
}

static gearman_return_t on_data(gearman_task_st* task) {
  say_data("+data", task);
  return GEARMAN_SUCCESS;
}

static gearman_return_t on_warning(gearman_task_st* task) {
  say_data("+warning", task);
  return GEARMAN_SUCCESS;
}

static gearman_return_t on_status(gearman_task_st* task) {
  printf("+status\t%u\t%u\n", gearman_task_numerator(task), gearman_task_denominator(task));
  fflush(stdout);
  return GEARMAN_SUCCESS;
}

static gearman_return_t on_complete(gearman_task_st* task) {
  ended = true;
  say_data("=complete", task);
  return GEARMAN_SUCCESS;
}

static gearman_return_t on_fail(gearman_task_st* task) {
  (void)task;
  ended = true;
  say("=fail", NULL, 0, 0);
  return GEARMAN_SUCCESS;
}

static gearman_return_t on_exception(gearman_task_st* task) {
  ended = true;
  say_data("=exception", task);
  return GEARMAN_SUCCESS;
}

static void submit(const struct request* r) {
  gearman_client_st* client = new_client();
  gearman_client_set_timeout(client, -1);
  gearman_client_set_created_fn(client, on_created);
  gearman_client_set_data_fn(client, on_data);
  gearman_client_set_warning_fn(client, on_warning);
  gearman_client_set_status_fn(client, on_status);
  gearman_client_set_complete_fn(client, on_complete);
  gearman_client_set_fail_fn(client, on_fail);
  gearman_client_set_exception_fn(client, on_exception);
  const char* unique = r->size[3] == 0 ? NULL : r->field[3];
  gearman_return_t code = GEARMAN_SUCCESS;
  ended = false;
  if (strcmp(r->field[4], "high") == 0) {
    gearman_client_add_task_high(client, NULL, NULL, r->field[1], unique, r->field[2], r->size[2],
                                 &code);
  } else if (strcmp(r->field[4], "low") == 0) {
    gearman_client_add_task_low(client, NULL, NULL, r->field[1], unique, r->field[2], r->size[2],
                                &code);
  } else {
    gearman_client_add_task(client, NULL, NULL, r->field[1], unique, r->field[2], r->size[2],
                            &code);
  }
  gearman_client_run_tasks(client);
  if (!ended) say("=error", NULL, 0, 1, gearman_client_error(client));
  gearman_client_free(client);
}

static void background(const struct request* r) {
  gearman_client_st* client = new_client();
  gearman_job_handle_t handle = "";
  const char* unique = r->size[3] == 0 ? NULL : r->field[3];
  gearman_return_t code;
  if (strcmp(r->field[4], "high") == 0) {
    code = gearman_client_do_high_background(client, r->field[1], unique, r->field[2], r->size[2],
                                             handle);
  } else if (strcmp(r->field[4], "low") == 0) {
    code = gearman_client_do_low_background(client, r->field[1], unique, r->field[2], r->size[2],
                                            handle);
  } else {
    code =
        gearman_client_do_background(client, r->field[1], unique, r->field[2], r->size[2], handle);
  }
  if (code == GEARMAN_SUCCESS) {
    say("=created", NULL, 0, 1, handle);
  } else {
    say("=error", NULL, 0, 1, gearman_client_error(client));
  }
  gearman_client_free(client);
}

// epoch FUNCTION BODY SECONDS-FROM-NOW
static void epoch(const struct request* r) {
  gearman_client_st* client = new_client();
  gearman_argument_t value = gearman_argument_make(NULL, 0, r->field[2], r->size[2]);
  gearman_task_attr_t when =
      gearman_task_attr_init_epoch(time(NULL) + atoi(r->field[3]), GEARMAN_JOB_PRIORITY_NORMAL);
  gearman_task_st* task =
      gearman_execute(client, r->field[1], r->size[1], NULL, 0, &when, &value, NULL);
  if (task != NULL) {
    say("=created", NULL, 0, 1, gearman_task_job_handle(task));
  } else {
    say("=error", NULL, 0, 1, gearman_client_error(client));
  }
  gearman_client_free(client);
}

static void status(const struct request* r) {
  gearman_client_st* client = new_client();
  gearman_job_handle_t handle;
  snprintf(handle, sizeof(handle), "%s", r->field[1]);
  bool known = false, running = false;
  uint32_t numerator = 0, denominator = 0;
  gearman_client_job_status(client, handle, &known, &running, &numerator, &denominator);
  printf("=status\t%d\t%d\t%u\t%u\n", known, running, numerator, denominator);
  fflush(stdout);
  gearman_client_free(client);
}

static bool job_done;

// Follows the steps of standard input until one of them ends the job.
static gearman_return_t follow(gearman_job_st* job, void* context) {
  (void)context;
  say("+job", gearman_job_workload(job) == NULL ? "" : gearman_job_workload(job),
      gearman_job_workload_size(job), 2, gearman_job_handle(job), gearman_job_unique(job));
  job_done = false;
  while (!job_done) {
    struct request r = read_request();
    if (strcmp(r.field[0], "data") == 0) {
      gearman_job_send_data(job, r.field[1], r.size[1]);
    } else if (strcmp(r.field[0], "warning") == 0) {
      gearman_job_send_warning(job, r.field[1], r.size[1]);
    } else if (strcmp(r.field[0], "progress") == 0) {
      gearman_job_send_status(job, (uint32_t)atoi(r.field[1]), (uint32_t)atoi(r.field[2]));
    } else if (strcmp(r.field[0], "complete") == 0) {
      job_done = true;
      gearman_job_send_complete(job, r.field[1], r.size[1]);
    } else if (strcmp(r.field[0], "exception") == 0) {
      job_done = true;
      gearman_job_send_exception(job, r.field[1], r.size[1]);
    } else {
      job_done = true;
      gearman_job_send_fail(job);
    }
  }
  return GEARMAN_SUCCESS;
}

static void work(const struct request* r) {
  static gearman_worker_st* worker;
  if (worker != NULL) gearman_worker_free(worker);
  worker = new_worker();
  gearman_worker_set_timeout(worker, -1);
  char* rest = r->field[1];
  while (rest != NULL) {
    char* name = strsep(&rest, ",");
    gearman_worker_define_function(worker, name, strlen(name), gearman_function_create(follow), 0,
                                   NULL);
  }
  job_done = false;
  while (!job_done) gearman_worker_work(worker);
  say("=done", NULL, 0, 0);
}

int main(int argc, char** argv) {
  read_arguments(argc, argv);
  while (true) {
    struct request request = read_request();
    const char* verb = request.field[0];
    if (strcmp(verb, "submit") == 0) submit(&request);
    if (strcmp(verb, "background") == 0) background(&request);
    if (strcmp(verb, "epoch") == 0) epoch(&request);
    if (strcmp(verb, "status") == 0) status(&request);
    if (strcmp(verb, "work") == 0) work(&request);
  }
}
