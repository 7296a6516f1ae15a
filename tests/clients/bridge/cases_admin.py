"""What the lists and counters of both protocols show."""

from bridge.registry import case, each
from bridge.roles import id_of
from bridge.world import GEARMAN, World, check, equal


@case("status counts jobs of both protocols")
def status_counts(world: World) -> None:
    bean, client = world.beanstalk(), world.client("php")
    tube = world.tube()
    bean.put(tube, "ready")
    client.background(tube, "ready, too")
    bean.put(tube, "delayed", delay=1000)
    equal("ready and delayed", world.status(tube), [3, 0, 0])
    job = bean.reserve(tube)
    equal("one reserved by a watcher", world.status(tube), [3, 1, 1])
    bean.ask("bury", job.job_id, 0)
    equal("buried jobs are not in the total", world.status(tube), [2, 0, 1])
    stats = bean.tube(tube)
    equal("stats-tube agrees", [stats[f"current-jobs-{state}"]
          for state in ("ready", "reserved", "delayed", "buried")], ["1", "0", "1", "1"])


@case("status counts workers and consumers")
def worker_counts(world: World) -> None:
    bean, watcher = world.beanstalk(), world.beanstalk("jackd")
    worker, client = world.worker("perl"), world.client("php")
    tube = world.tube()
    worker.start(tube)
    world.wait_asleep(bean, tube)
    equal("a worker", world.status(tube), [0, 0, 1])
    equal("stats-tube counts it as watching", bean.tube(tube)["current-watching"], "1")
    watcher.start_reserve(tube)
    world.wait_asleep(bean, tube, 2)
    equal("and a consumer", world.status(tube), [0, 0, 2])
    client.background(tube, "one")
    client.background(tube, "two")
    worker.job()
    job = watcher.reserved()
    equal("both at work", world.status(tube), [2, 2, 2])
    watcher.delete(job.job_id)
    worker.finish("complete", "")
    world.wait("nobody waits, no job is left", lambda: world.status(tube) == [0, 0, 2])
    watcher.start_reserve(tube)
    worker.actor.kill()
    world.wait("a dead worker is not counted", lambda: world.status(tube) == [0, 0, 1])


@case("workers lists connections of both protocols")
def workers_list(world: World) -> None:
    bean, other = world.beanstalk("fivebeans"), world.beanstalk()
    worker = world.worker("perl")
    tube = world.tube()
    worker.start(tube, f"{tube}-more")
    bean.start_reserve(tube)
    world.wait_asleep(other, tube, 2)
    rows = [line.partition(" : ") for line in world.gearadmin("--workers").splitlines()]
    functions = sorted(sorted(row[2].split()) for row in rows if tube in row[2].split())
    equal("what they can do", functions, [[tube], [tube, f"{tube}-more"]])
    check("a client id", any(row[0].endswith(" perl-actor") for row in rows))


@each("stats counts Gearman jobs", GEARMAN, alone=True)
def stats_counts(world: World, library: str) -> None:
    bean, client = world.beanstalk(), world.client(library)
    before = int(bean.stats()["total-jobs"])
    client.background(world.tube(), "one", "", "high")
    client.background(world.tube(), "two")
    equal("total-jobs", int(bean.stats()["total-jobs"]), before + 2)
    stats = bean.tube(world.tube())
    equal("stats-tube", [stats[key] for key in
          ("current-jobs-ready", "current-jobs-urgent", "total-jobs")], ["2", "1", "2"])


@case("drop function refuses while there are put jobs or consumers")
def drop_function(world: World) -> None:
    bean = world.beanstalk()
    tube = world.tube()
    job_id = bean.put(tube, "kept")
    check("with a job", "still connected" in world.gearadmin("--drop-function", tube))
    equal("it is kept", bean.peek("ready", tube).body, b"kept")
    bean.delete(job_id)


@case("show jobs names put jobs")
def show_jobs(world: World) -> None:
    bean, client = world.beanstalk("jackd"), world.client("php")
    prefix = client.background(world.tube(), "x", "shown-key").rpartition(":")[0]
    job_id = bean.put(world.tube(), "x")
    handles = [line.split("\t")[0] for line in world.gearadmin("--show-jobs").splitlines()]
    check("a put job", f"{prefix}:{job_id}" in handles)
    check("unique keys", "shown-key" in world.gearadmin("--show-unique-jobs").splitlines())


@case("create function makes a tube that beanstalk sees")
def create_function(world: World) -> None:
    tube = world.tube()
    equal("create", world.gearadmin("--create-function", tube).strip(), "OK")
    check("list-tubes", tube in world.beanstalk().tubes())
    equal("status", world.status(tube), [0, 0, 0])
    equal("drop", world.gearadmin("--drop-function", tube).strip(), "OK")
    equal("gone", world.status(tube), None)


@case("getpid and stats name the same process")
def one_process(world: World) -> None:
    equal("pid", world.gearadmin("--getpid").strip(), world.beanstalk().stats()["pid"])


@case("the same handle serves GET_STATUS on both sides")
def handle_of_put(world: World) -> None:
    bean, client = world.beanstalk(), world.client("libgearman")
    handle = client.background(world.tube(), "x")
    prefix = handle.rpartition(":")[0]
    job_id = bean.put(world.tube(), "y")
    check("ids follow each other", job_id > id_of(handle))
    equal("a put job is known", client.status(f"{prefix}:{job_id}"), [1, 0, 0, 0])
    bean.delete(job_id)
    equal("until it is deleted", client.status(f"{prefix}:{job_id}"), [0, 0, 0, 0])
