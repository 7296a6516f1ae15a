// Drives libgearman's worker API. Arguments: HOST PORT.
#include "peer.h"

static gearman_return_t take_background(gearman_client_st* client, const char* function,
                                        const char* unique, gearman_job_handle_t handle) {
  return gearman_client_do_background(client, function, unique, "load", 4, handle);
}

// Number of workers of a function: the last column of `status`; -1 without a line.
static int workers_of(const char* function) {
  char command[160], line[256], name[200];
  snprintf(command, sizeof(command), "gearadmin -h %s -p %d --status", peer_host, peer_port);
  FILE* pipe = popen(command, "r");
  int workers = -1, total, running, count;
  while (pipe != NULL && fgets(line, sizeof(line), pipe) != NULL) {
    if (sscanf(line, "%199[^\t]\t%d\t%d\t%d", name, &total, &running, &count) == 4 &&
        strcmp(name, function) == 0) {
      workers = count;
    }
  }
  if (pipe != NULL) pclose(pipe);
  return workers;
}

static void check_connection(void) {
  gearman_worker_st* worker = new_worker();
  gearman_worker_set_timeout(worker, 120000);
  tap_int(gearman_worker_echo(worker, "hello", 5), GEARMAN_SUCCESS, "echo");
  tap_ok(gearman_worker_set_server_option(worker, "exceptions", 10), "option exceptions");
  tap_ok(!gearman_worker_set_server_option(worker, "nonsense", 8), "an unknown option is refused");
  tap_int(gearman_worker_set_identifier(worker, "c-worker", 8), GEARMAN_SUCCESS, "set_identifier");
  gearman_worker_free(worker);
}

// The library sends changes with a grab; one that timed out is continued by the next.
static int workers_after_grab(gearman_worker_st* worker, const char* function) {
  gearman_return_t code;
  gearman_worker_grab_job(worker, NULL, &code);
  return workers_of(function);
}

static void check_register(void) {
  gearman_worker_st* worker = new_worker();
  gearman_worker_register(worker, "first", 0);
  gearman_worker_register(worker, "second", 30);
  tap_ok(EVENTUALLY(workers_after_grab(worker, "first") == 1 && workers_of("second") == 1),
         "register");
  gearman_worker_unregister(worker, "first");
  tap_ok(EVENTUALLY(workers_after_grab(worker, "first") <= 0), "unregister");
  tap_int(workers_of("second"), 1, "takes back only that one");
  gearman_worker_unregister_all(worker);
  tap_ok(EVENTUALLY(workers_after_grab(worker, "second") <= 0), "unregister_all");
  gearman_worker_free(worker);
}

static void check_grab(gearman_client_st* client) {
  gearman_worker_st* worker = new_worker();
  gearman_return_t code;
  gearman_worker_register(worker, "grab", 0);
  gearman_job_st* job = NULL;
  tap_ok(EVENTUALLY((job = gearman_worker_grab_job(worker, NULL, &code)) != NULL ||
                    code != GEARMAN_TIMEOUT) &&
             job == NULL,
         "grab_job without a job");
  tap_int(code, GEARMAN_NO_JOBS, "says so");
  // The library may lose a job after a grab that timed out.
  gearman_worker_free(worker);
  worker = new_worker();
  gearman_worker_set_timeout(worker, 120000);
  gearman_worker_register(worker, "grab", 0);
  gearman_job_handle_t handle;
  take_background(client, "grab", "grab-key", handle);
  job = gearman_worker_grab_job(worker, NULL, &code);
  tap_ok(job != NULL, "grab_job");
  tap_str(gearman_job_handle(job), handle, "handle");
  tap_str(gearman_job_unique(job), "grab-key", "unique");
  tap_str(gearman_job_function_name(job), "grab", "function");
  tap_bytes(gearman_job_workload(job), gearman_job_workload_size(job), "load", "workload");
  tap_ok(is_running(handle), "the job runs");
  tap_int(gearman_job_send_status(job, 1, 4), GEARMAN_SUCCESS, "send_status");
  uint32_t numerator = 0, denominator = 0;
  bool known, running;
  tap_ok(EVENTUALLY(gearman_client_job_status(client, handle, &known, &running, &numerator,
                                              &denominator) == GEARMAN_SUCCESS &&
                    numerator == 1 && denominator == 4),
         "shows in job_status");
  tap_int(gearman_job_send_complete(job, "", 0), GEARMAN_SUCCESS, "send_complete");
  tap_ok(EVENTUALLY(!is_known(handle)), "ends the job");
  gearman_job_free(job);
  gearman_worker_free(worker);
}

static gearman_job_st* grab(gearman_worker_st* worker) {
  gearman_return_t code;
  gearman_worker_set_timeout(worker, 120000);
  return gearman_worker_grab_job(worker, NULL, &code);
}

static void check_endings(gearman_client_st* client) {
  gearman_worker_st* worker = new_worker();
  gearman_worker_register(worker, "endings", 0);
  gearman_job_handle_t handle;
  take_background(client, "endings", NULL, handle);
  gearman_job_st* job = grab(worker);
  gearman_job_send_fail(job);
  tap_ok(EVENTUALLY(!is_known(handle)), "send_fail ends a job");
  gearman_job_free(job);
  take_background(client, "endings", NULL, handle);
  job = grab(worker);
  gearman_job_send_exception(job, "broken", 6);
  tap_ok(EVENTUALLY(!is_known(handle)), "send_exception ends a job");
  gearman_job_free(job);
  gearman_worker_free(worker);
}

static void check_loss(gearman_client_st* client) {
  gearman_worker_st* first = new_worker();
  gearman_worker_register(first, "lost", 0);
  gearman_job_handle_t handle;
  take_background(client, "lost", NULL, handle);
  gearman_job_st* job = grab(first);
  tap_ok(is_running(handle), "a worker holds the job");
  gearman_job_free(job);
  gearman_worker_free(first);
  tap_ok(EVENTUALLY(is_known(handle) && !is_running(handle)), "a worker that leaves gives it back");
  gearman_worker_st* second = new_worker();
  gearman_worker_register(second, "lost", 0);
  job = grab(second);
  tap_str(gearman_job_handle(job), handle, "and another one gets it");
  gearman_job_send_complete(job, "", 0);
  tap_ok(EVENTUALLY(!is_known(handle)), "to its end");
  gearman_job_free(job);
  gearman_worker_free(second);
}

static void check_time_limit(gearman_client_st* client) {
  gearman_worker_st* slow = new_worker();
  gearman_worker_register(slow, "limited", 1);
  gearman_job_handle_t handle;
  take_background(client, "limited", NULL, handle);
  gearman_job_st* job = grab(slow);
  tap_str(gearman_job_handle(job), handle, "a worker with a time limit takes the job");
  tap_ok(EVENTUALLY(is_known(handle) && !is_running(handle)), "the limit gives the job back");
  gearman_worker_st* other = new_worker();
  gearman_worker_register(other, "limited", 0);
  gearman_job_st* again = grab(other);
  tap_str(again == NULL ? "" : gearman_job_handle(again), handle, "to the next worker");
  if (again != NULL) gearman_job_send_complete(again, "", 0);
  tap_ok(EVENTUALLY(!is_known(handle)), "that ends it");
  gearman_job_free(again);
  gearman_job_free(job);
  gearman_worker_free(other);
  gearman_worker_free(slow);
}

static void check_priorities(gearman_client_st* client) {
  gearman_job_handle_t handle;
  gearman_client_do_low_background(client, "order", NULL, "low", 3, handle);
  gearman_client_do_background(client, "order", NULL, "normal 1", 8, handle);
  gearman_client_do_background(client, "order", NULL, "normal 2", 8, handle);
  gearman_client_do_high_background(client, "order", NULL, "high", 4, handle);
  gearman_worker_st* worker = new_worker();
  gearman_worker_register(worker, "order", 0);
  static const char* const want[] = {"high", "normal 1", "normal 2", "low"};
  for (int i = 0; i < 4; i++) {
    gearman_job_st* job = grab(worker);
    tap_bytes(gearman_job_workload(job), gearman_job_workload_size(job), want[i],
              "priority first, then age");
    gearman_job_send_complete(job, "", 0);
    gearman_job_free(job);
  }
  gearman_worker_free(worker);
}

static void* answer(gearman_job_st* job, void* context, size_t* size, gearman_return_t* code) {
  (void)job;
  *size = strlen(context);
  *code = GEARMAN_SUCCESS;
  return strdup(context);
}

static void check_sleep(gearman_client_st* client) {
  gearman_worker_st* worker = new_worker();
  gearman_worker_add_function(worker, "sleeps", 0, answer, "awake");
  tap_ok(gearman_worker_function_exist(worker, "sleeps", 6), "function_exist");
  struct worker_thread* thread = start_worker(worker);
  tap_ok(EVENTUALLY(workers_of("sleeps") == 1), "add_function");
  for (int i = 0; i < 5; i++) {
    size_t size = 0;
    gearman_return_t code;
    char* result = gearman_client_do(client, "sleeps", NULL, "x", 1, &size, &code);
    tap_bytes(result, size, "awake", "a sleeping worker wakes");
    free(result);
  }
  stop_worker(thread);
  tap_ok(EVENTUALLY(workers_of("sleeps") <= 0), "a worker that ends is forgotten");
}

static void check_many_workers(gearman_client_st* client) {
  struct worker_thread* threads[8];
  for (int i = 0; i < 8; i++) {
    gearman_worker_st* worker = new_worker();
    gearman_worker_add_function(worker, "many", 0, answer, "done");
    threads[i] = start_worker(worker);
  }
  tap_ok(EVENTUALLY(workers_of("many") == 8), "eight workers");
  gearman_return_t code;
  gearman_task_st* tasks[200];
  for (int i = 0; i < 200; i++) {
    tasks[i] = gearman_client_add_task(client, NULL, NULL, "many", NULL, "x", 1, &code);
  }
  tap_int(gearman_client_run_tasks(client), GEARMAN_SUCCESS, "200 tasks");
  int done = 0;
  for (int i = 0; i < 200; i++) done += gearman_task_return(tasks[i]) == GEARMAN_SUCCESS;
  tap_int(done, 200, "all done");
  for (int i = 0; i < 8; i++) atomic_store(&threads[i]->stop, true);
  for (int i = 0; i < 8; i++) stop_worker(threads[i]);
}

int main(int argc, char** argv) {
  read_arguments(argc, argv);
  gearman_client_st* client = new_client();
  check_connection();
  check_register();
  check_grab(client);
  check_endings(client);
  check_loss(client);
  check_time_limit(client);
  check_priorities(client);
  check_sleep(client);
  check_many_workers(client);
  gearman_client_free(client);
  return tap_finish();
}
