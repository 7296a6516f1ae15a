// The server under test, and workers that run in threads of their own.
#pragma once

#include <libgearman/gearman.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tap.h"

static const char* peer_host;
static in_port_t peer_port;

static inline void read_arguments(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s HOST PORT\n", argv[0]);
    exit(2);
  }
  peer_host = argv[1];
  peer_port = (in_port_t)atoi(argv[2]);
}

static inline gearman_client_st* new_client(void) {
  gearman_client_st* client = gearman_client_create(NULL);
  gearman_client_add_server(client, peer_host, peer_port);
  gearman_client_set_timeout(client, 120000);
  return client;
}

static inline gearman_worker_st* new_worker(void) {
  gearman_worker_st* worker = gearman_worker_create(NULL);
  gearman_worker_add_server(worker, peer_host, peer_port);
  gearman_worker_set_timeout(worker, 1000);
  return worker;
}

struct worker_thread {
  pthread_t thread;
  atomic_bool stop;
  gearman_worker_st* worker;
};

static inline void* worker_main(void* argument) {
  struct worker_thread* self = argument;
  while (!atomic_load(&self->stop)) gearman_worker_work(self->worker);
  return NULL;
}

static inline struct worker_thread* start_worker(gearman_worker_st* worker) {
  struct worker_thread* self = calloc(1, sizeof(*self));
  self->worker = worker;
  pthread_create(&self->thread, NULL, worker_main, self);
  return self;
}

static inline void stop_worker(struct worker_thread* self) {
  atomic_store(&self->stop, true);
  pthread_join(self->thread, NULL);
  gearman_worker_free(self->worker);
  free(self);
}

static inline gearman_return_t job_state(const char* handle, bool* known, bool* running) {
  gearman_client_st* client = new_client();
  gearman_job_handle_t copy;
  snprintf(copy, sizeof(copy), "%s", handle);
  gearman_return_t code = gearman_client_job_status(client, copy, known, running, NULL, NULL);
  gearman_client_free(client);
  return code;
}

static inline bool is_known(const char* handle) {
  bool known = false, running = false;
  job_state(handle, &known, &running);
  return known;
}

static inline bool is_running(const char* handle) {
  bool known = false, running = false;
  job_state(handle, &known, &running);
  return running;
}
