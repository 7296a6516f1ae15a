// Drives libgearman's client API. Arguments: HOST PORT.
#include <ctype.h>

#include "peer.h"

// ---- functions that the workers offer

static void* reverse(gearman_job_st* job, void* context, size_t* size, gearman_return_t* code) {
  (void)context;
  const char* workload = gearman_job_workload(job);
  *size = gearman_job_workload_size(job);
  char* result = malloc(*size + 1);
  for (size_t i = 0; i < *size; i++) result[i] = workload[*size - 1 - i];
  *code = GEARMAN_SUCCESS;
  return result;
}

static gearman_return_t fail(gearman_job_st* job, void* context) {
  (void)job;
  (void)context;
  return GEARMAN_FATAL;
}

static gearman_return_t throw_exception(gearman_job_st* job, void* context) {
  (void)context;
  return gearman_job_send_exception(job, "broken", 6);
}

static gearman_return_t progress(gearman_job_st* job, void* context) {
  (void)context;
  gearman_job_send_status(job, 1, 2);
  gearman_job_send_data(job, "part one,", 9);
  gearman_job_send_data(job, "part two,", 9);
  gearman_job_send_warning(job, "careful", 7);
  gearman_job_send_status(job, 2, 2);
  return gearman_job_send_complete(job, "whole", 5);
}

static gearman_return_t upper(gearman_job_st* job, void* context) {
  (void)context;
  char text[64];
  size_t size = gearman_job_workload_size(job);
  const char* workload = gearman_job_workload(job);
  for (size_t i = 0; i < size && i < sizeof(text); i++) {
    text[i] = (char)toupper((unsigned char)workload[i]);
  }
  return gearman_job_send_data(job, text, size);
}

// Splits its workload at blanks; each part becomes a job of the reducing function.
static gearman_return_t split(gearman_job_st* job, void* context) {
  (void)context;
  const char* at = gearman_job_workload(job);
  const char* end = at + gearman_job_workload_size(job);
  while (at < end) {
    const char* blank = memchr(at, ' ', (size_t)(end - at));
    const char* stop = blank == NULL ? end : blank;
    gearman_return_t code = gearman_job_send_data(job, at, (size_t)(stop - at));
    if (gearman_failed(code)) return GEARMAN_ERROR;
    at = stop + 1;
  }
  return GEARMAN_SUCCESS;
}

static gearman_return_t join(gearman_aggregator_st* aggregator, gearman_task_st* task,
                             gearman_result_st* result) {
  (void)aggregator;
  char all[256] = "";
  for (; task != NULL; task = gearman_next(task)) {
    gearman_result_st* part = gearman_task_result(task);
    if (part == NULL || gearman_result_size(part) == 0) continue;
    strncat(all, gearman_result_value(part), gearman_result_size(part));
    strcat(all, ";");
  }
  return gearman_result_store_value(result, all, strlen(all));
}

static atomic_int count_runs, count_submissions;

// Runs until three tasks wait for it.
static gearman_return_t count(gearman_job_st* job, void* context) {
  (void)context;
  while (atomic_load(&count_submissions) < 3) nap();
  char text[16];
  int size = snprintf(text, sizeof(text), "%d", atomic_fetch_add(&count_runs, 1) + 1);
  return gearman_job_send_complete(job, text, (size_t)size);
}

static void define(gearman_worker_st* worker, const char* name, gearman_function_fn* function) {
  gearman_worker_define_function(worker, name, strlen(name), gearman_function_create(function), 0,
                                 NULL);
}

static struct worker_thread* start_main_worker(void) {
  gearman_worker_st* worker = new_worker();
  gearman_worker_add_function(worker, "reverse", 0, reverse, NULL);
  define(worker, "fail", fail);
  define(worker, "exception", throw_exception);
  define(worker, "progress", progress);
  define(worker, "upper", upper);
  define(worker, "count", count);
  return start_worker(worker);
}

// ---- checks

typedef void* do_function(gearman_client_st*, const char*, const char*, const void*, size_t,
                          size_t*, gearman_return_t*);

static void check_do(gearman_client_st* client, do_function* call, const char* name) {
  size_t size = 0;
  gearman_return_t code = GEARMAN_ERROR;
  char* result = call(client, "reverse", NULL, "abc", 3, &size, &code);
  tap_bytes(result, size, "cba", name);
  tap_int(code, GEARMAN_SUCCESS, "its return code");
  free(result);
}

static void check_bodies(gearman_client_st* client) {
  size_t length = 3 * 1024 * 1024, size = 0;
  char* workload = malloc(length);
  for (size_t i = 0; i < length; i++) workload[i] = (char)(i * 31 >> 3);
  gearman_return_t code = GEARMAN_ERROR;
  char* result = gearman_client_do(client, "reverse", "large", workload, length, &size, &code);
  bool same = size == length;
  for (size_t i = 0; same && i < size; i++) same = result[i] == workload[length - 1 - i];
  tap_ok(same, "3 MiB of every byte there and back");
  free(workload);
  free(result);
  result = gearman_client_do(client, "reverse", NULL, NULL, 0, &size, &code);
  tap_int(code, GEARMAN_SUCCESS, "an empty workload");
  tap_int((long)size, 0, "and its empty result");
  free(result);
}

static void check_failures(void) {
  gearman_client_st* client = new_client();
  size_t size = 0;
  gearman_return_t code = GEARMAN_SUCCESS;
  free(gearman_client_do(client, "fail", NULL, "x", 1, &size, &code));
  tap_int(code, GEARMAN_WORK_FAIL, "WORK_FAIL");
  tap_ok(gearman_client_set_server_option(client, "exceptions", 10), "option exceptions");
  free(gearman_client_do(client, "exception", NULL, "x", 1, &size, &code));
  tap_int(code, GEARMAN_WORK_EXCEPTION, "WORK_EXCEPTION to a client that asked");
  tap_ok(!gearman_client_set_server_option(client, "nonsense", 8), "an unknown option is refused");
  gearman_client_set_timeout(client, 300);
  free(gearman_client_do(client, "nobody does this", NULL, "x", 1, &size, &code));
  tap_int(code, GEARMAN_TIMEOUT, "a job without a worker times out");
  gearman_client_free(client);
  if (tap_skip_reference("an exception for a client that did not ask",
                         "gearmand sends a handle that the library does not find")) {
    return;
  }
  client = new_client();
  free(gearman_client_do(client, "exception", NULL, "x", 1, &size, &code));
  tap_int(code, GEARMAN_WORK_FAIL, "an exception for a client that did not ask");
  gearman_client_free(client);
}

typedef gearman_return_t background_function(gearman_client_st*, const char*, const char*,
                                             const void*, size_t, gearman_job_handle_t);

static void check_background(background_function* call, const char* name) {
  gearman_client_st* client = new_client();
  gearman_job_handle_t handle = "";
  tap_int(call(client, "reverse", NULL, "x", 1, handle), GEARMAN_SUCCESS, name);
  tap_ok(handle[0] != '\0', "gives a handle");
  tap_ok(EVENTUALLY(!is_known(handle)), "and the job is done");
  gearman_client_free(client);
}

static char events[1024];

static gearman_return_t note(const char* event, gearman_task_st* task, bool data) {
  char line[160];
  snprintf(line, sizeof(line), "%s %s%s%.*s,", event, gearman_task_unique(task), data ? " " : "",
           data ? (int)gearman_task_data_size(task) : 0,
           data ? (const char*)gearman_task_data(task) : "");
  if (strcmp(gearman_task_unique(task), "followed") == 0) strcat(events, line);
  return GEARMAN_SUCCESS;
}

static gearman_return_t on_created(gearman_task_st* task) { return note("created", task, false); }
static gearman_return_t on_data(gearman_task_st* task) { return note("data", task, true); }
static gearman_return_t on_warning(gearman_task_st* task) { return note("warning", task, true); }
static gearman_return_t on_complete(gearman_task_st* task) { return note("complete", task, true); }
static gearman_return_t on_fail(gearman_task_st* task) { return note("fail", task, false); }

static gearman_return_t on_exception(gearman_task_st* task) {
  return note("exception", task, false);
}

static gearman_return_t on_status(gearman_task_st* task) {
  char event[32];
  snprintf(event, sizeof(event), "%u/%u", gearman_task_numerator(task),
           gearman_task_denominator(task));
  return note(event, task, false);
}

static void follow(gearman_client_st* client) {
  gearman_client_set_created_fn(client, on_created);
  gearman_client_set_data_fn(client, on_data);
  gearman_client_set_warning_fn(client, on_warning);
  gearman_client_set_status_fn(client, on_status);
  gearman_client_set_complete_fn(client, on_complete);
  gearman_client_set_exception_fn(client, on_exception);
  gearman_client_set_fail_fn(client, on_fail);
}

static void check_events(const char* function, const char* want, const char* name) {
  gearman_client_st* client = new_client();
  gearman_return_t code;
  gearman_client_set_server_option(client, "exceptions", 10);
  follow(client);
  events[0] = '\0';
  gearman_client_add_task(client, NULL, NULL, function, "followed", "x", 1, &code);
  gearman_client_run_tasks(client);
  tap_str(events, want, name);
  gearman_client_free(client);
}

typedef gearman_task_st* add_function(gearman_client_st*, gearman_task_st*, void*, const char*,
                                      const char*, const void*, size_t, gearman_return_t*);

static void check_task(add_function* add, const char* want, const char* name) {
  gearman_client_st* client = new_client();
  gearman_return_t code;
  follow(client);
  events[0] = '\0';
  gearman_task_st* task = add(client, NULL, NULL, "reverse", "followed", "abc", 3, &code);
  tap_int(gearman_client_run_tasks(client), GEARMAN_SUCCESS, name);
  tap_str(events, want, "its events");
  tap_ok(gearman_task_job_handle(task)[0] != '\0', "its handle");
  gearman_client_free(client);
}

static void check_tasks(void) {
  check_task(gearman_client_add_task, "created followed,complete followed cba,", "add_task");
  check_task(gearman_client_add_task_high, "created followed,complete followed cba,",
             "add_task_high");
  check_task(gearman_client_add_task_low, "created followed,complete followed cba,",
             "add_task_low");
  check_task(gearman_client_add_task_background, "created followed,", "add_task_background");
  check_task(gearman_client_add_task_high_background, "created followed,",
             "add_task_high_background");
  check_task(gearman_client_add_task_low_background, "created followed,",
             "add_task_low_background");
}

static gearman_return_t on_submitted(gearman_task_st* task) {
  (void)task;
  atomic_fetch_add(&count_submissions, 1);
  return GEARMAN_SUCCESS;
}

// Without FREE_TASKS the library gives every end of a handle to the first task that has it.
static void check_unique(void) {
  gearman_client_st* client = new_client();
  gearman_return_t code;
  gearman_client_add_options(client, GEARMAN_CLIENT_FREE_TASKS);
  gearman_client_set_created_fn(client, on_submitted);
  gearman_client_set_complete_fn(client, on_complete);
  events[0] = '\0';
  for (int i = 0; i < 3; i++) {
    gearman_client_add_task(client, NULL, NULL, "count", "followed", "x", 1, &code);
  }
  tap_int(gearman_client_run_tasks(client), GEARMAN_SUCCESS, "three tasks with one key");
  tap_str(events, "complete followed 1,complete followed 1,complete followed 1,",
          "all get the result of the one run");
  gearman_client_free(client);
}

static void check_status(void) {
  gearman_client_st* client = new_client();
  gearman_job_handle_t handle;
  gearman_client_do_background(client, "waits", "status-key", "x", 1, handle);
  bool known = false, running = true;
  uint32_t numerator = 9, denominator = 9;
  gearman_return_t code =
      gearman_client_job_status(client, handle, &known, &running, &numerator, &denominator);
  tap_int(code, GEARMAN_SUCCESS, "job_status");
  tap_ok(known && !running && numerator == 0 && denominator == 0, "of a waiting job");
  gearman_task_st* task = gearman_client_add_task_status(client, NULL, NULL, handle, &code);
  gearman_client_run_tasks(client);
  tap_ok(gearman_task_is_known(task) && !gearman_task_is_running(task), "add_task_status");
  gearman_client_free(client);
  client = new_client();
  gearman_status_t status = gearman_client_unique_status(client, "status-key", 10);
  tap_ok(gearman_status_is_known(status) && !gearman_status_is_running(status), "unique_status");
  gearman_client_free(client);
  client = new_client();
  status = gearman_client_unique_status(client, "no such key", 11);
  tap_ok(!gearman_status_is_known(status), "of an unknown key");
  gearman_client_free(client);
  tap_ok(!is_known("H:nowhere:1"), "job_status of an unknown handle");
}

static void check_execute(gearman_client_st* client) {
  gearman_argument_t value = gearman_argument_make(NULL, 0, "abc", 3);
  gearman_task_attr_t attributes = gearman_task_attr_init(GEARMAN_JOB_PRIORITY_HIGH);
  gearman_task_st* task =
      gearman_execute(client, "reverse", 7, "exec", 4, &attributes, &value, NULL);
  gearman_result_st* result = task == NULL ? NULL : gearman_task_result(task);
  tap_bytes(result == NULL ? NULL : gearman_result_value(result),
            result == NULL ? 0 : gearman_result_size(result), "cba", "execute");
  attributes = gearman_task_attr_init_background(GEARMAN_JOB_PRIORITY_LOW);
  task = gearman_execute(client, "reverse", 7, "execbg", 6, &attributes, &value, NULL);
  tap_ok(task != NULL && gearman_task_job_handle(task)[0] != '\0', "execute in background");
}

static void check_epoch(gearman_client_st* client) {
  gearman_argument_t value = gearman_argument_make(NULL, 0, "abc", 3);
  gearman_task_attr_t later =
      gearman_task_attr_init_epoch(time(NULL) + 3600, GEARMAN_JOB_PRIORITY_NORMAL);
  gearman_task_st* task =
      gearman_execute(client, "waits", 5, "epoch", 5, &later, &value, NULL);
  tap_ok(task != NULL && is_known(gearman_task_job_handle(task)), "an epoch job is kept");
  tap_ok(task != NULL && !is_running(gearman_task_job_handle(task)), "and waits for its time");
  gearman_task_attr_t soon =
      gearman_task_attr_init_epoch(time(NULL) + 2, GEARMAN_JOB_PRIORITY_NORMAL);
  task = gearman_execute(client, "reverse", 7, "epoch2", 6, &soon, &value, NULL);
  tap_ok(task != NULL && EVENTUALLY(!is_known(gearman_task_job_handle(task))),
         "an epoch job runs when it is due");
}

static void check_reduce(gearman_client_st* client) {
  gearman_worker_st* splitter = new_worker();
  gearman_worker_define_function(splitter, "split", 5,
                                 gearman_function_create_partition(split, join), 0, NULL);
  struct worker_thread* thread = start_worker(splitter);
  gearman_argument_t value = gearman_argument_make(NULL, 0, "a bc def", 8);
  gearman_task_st* task =
      gearman_execute_by_partition(client, "split", 5, "upper", 5, NULL, 0, NULL, &value, NULL);
  gearman_result_st* result = task == NULL ? NULL : gearman_task_result(task);
  tap_bytes(result == NULL ? NULL : gearman_result_value(result),
            result == NULL ? 0 : gearman_result_size(result), "DEF;BC;A;",
            "a reduce job is split, run and joined (the list starts with the last part)");
  stop_worker(thread);
}

static void check_connection(gearman_client_st* client) {
  char all[256];
  for (int i = 0; i < 256; i++) all[i] = (char)i;
  tap_int(gearman_client_echo(client, all, sizeof(all)), GEARMAN_SUCCESS, "echo");
  tap_int(gearman_client_set_identifier(client, "c-client", 8), GEARMAN_SUCCESS, "set_identifier");
  gearman_client_st* copy = gearman_client_clone(NULL, client);
  check_do(copy, gearman_client_do, "do with a cloned client");
  gearman_client_free(copy);
}

static void check_namespace(void) {
  gearman_worker_st* worker = new_worker();
  gearman_worker_set_namespace(worker, "space", 5);
  define(worker, "named", upper);
  struct worker_thread* thread = start_worker(worker);
  gearman_client_st* client = new_client();
  gearman_client_set_namespace(client, "space", 5);
  size_t size = 0;
  gearman_return_t code;
  char* result = gearman_client_do(client, "named", NULL, "abc", 3, &size, &code);
  tap_bytes(result, size, "ABC", "a namespace on both sides");
  free(result);
  gearman_client_free(client);
  stop_worker(thread);
}

int main(int argc, char** argv) {
  read_arguments(argc, argv);
  struct worker_thread* worker = start_main_worker();
  gearman_client_st* client = new_client();
  check_connection(client);
  check_do(client, gearman_client_do, "do");
  check_do(client, gearman_client_do_high, "do_high");
  check_do(client, gearman_client_do_low, "do_low");
  check_bodies(client);
  check_failures();
  check_background(gearman_client_do_background, "do_background");
  check_background(gearman_client_do_high_background, "do_high_background");
  check_background(gearman_client_do_low_background, "do_low_background");
  check_events("progress",
               "created followed,1/2 followed,data followed part one,,data followed part two,,"
               "warning followed careful,2/2 followed,complete followed whole,",
               "every packet of a job in its order");
  check_events("fail", "created followed,fail followed,", "a failing task");
  check_events("exception", "created followed,exception followed,", "a task with an exception");
  check_tasks();
  check_unique();
  check_status();
  check_execute(client);
  check_epoch(client);
  check_reduce(client);
  check_namespace();
  gearman_client_free(client);
  stop_worker(worker);
  return tap_finish();
}
