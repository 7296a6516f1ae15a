"""Jobs that go in on one side and are done on the other."""

from bridge.registry import case, each
from bridge.roles import id_of
from bridge.world import BEANSTALK, GEARMAN, World, check, equal

EVERY_BYTE = bytes(range(256)) * 4
TEXT = "line one\r\nRESERVED 1 2\r\n \t%41 ünïcode".encode()


def body_for(library: str) -> bytes:
    """jackd sends text only."""
    return TEXT if library == "jackd" else EVERY_BYTE


@each("a Gearman client and a Gearman worker", GEARMAN, GEARMAN, one_protocol=True)
def gearman_pair(world: World, client_library: str, worker_library: str) -> None:
    client, worker = world.client(client_library), world.worker(worker_library)
    worker.start(world.tube())
    handle = client.submit(world.tube(), EVERY_BYTE)
    job = worker.job()
    equal("handle and body", (job.handle, job.body), (handle, EVERY_BYTE))
    worker.step("progress", 1, 3)
    equal("progress", client.actor.event("status"), [b"1", b"3"])
    worker.step("data", "part")
    equal("data", client.actor.event("data"), [b"part"])
    worker.step("warning", "careful")
    equal("warning", client.actor.event("warning"), [b"careful"])
    worker.finish("complete", "result")
    equal("end", client.end(), ("complete", b"result"))


@each("one beanstalk library puts and another takes", BEANSTALK, BEANSTALK, one_protocol=True)
def beanstalk_pair(world: World, producer: str, consumer: str) -> None:
    put, take = world.beanstalk(producer), world.beanstalk(consumer)
    take.start_reserve(world.tube())
    job_id = put.put(world.tube(), body_for(producer))
    job = take.reserved()
    equal("id and body", (job.job_id, job.body), (job_id, body_for(producer)))
    take.delete(job_id)
    check("gone", not put.exists(job_id))


@each("a put job is done by a Gearman worker", BEANSTALK, GEARMAN)
def put_to_worker(world: World, producer: str, worker_library: str) -> None:
    bean, worker = world.beanstalk(producer), world.worker(worker_library)
    worker.start(world.tube())
    world.wait_asleep(bean, world.tube())
    job_id = bean.put(world.tube(), body_for(producer))
    job = worker.job()
    equal("body", job.body, body_for(producer))
    equal("the handle ends in the id", id_of(job.handle), job_id)
    equal("state", bean.job(job_id)["state"], "reserved")
    client = world.client("libgearman")
    worker.step("progress", 2, 5)
    world.wait("GET_STATUS of a put job", lambda: client.status(job.handle) == [1, 1, 2, 5])
    worker.finish("complete", "nobody hears this")
    world.wait("the job is gone", lambda: not bean.exists(job_id))


@each("a background job is done by a beanstalk consumer", GEARMAN, BEANSTALK)
def background_to_consumer(world: World, client_library: str, consumer: str) -> None:
    client, bean = world.client(client_library), world.beanstalk(consumer)
    handle = client.background(world.tube(), EVERY_BYTE)
    equal("status of a ready job", client.status(handle)[:2], [1, 0])
    job = bean.reserve(world.tube())
    equal("id and body", (job.job_id, job.body), (id_of(handle), EVERY_BYTE))
    stats = bean.job(job.job_id)
    equal("what stats-job shows", [stats[key] for key in ("tube", "pri", "ttr", "state")],
          [world.tube(), "65536", "120", "reserved"])
    equal("status of a reserved job", client.status(handle)[:2], [1, 1])
    bean.delete(job.job_id)
    equal("status of a finished job", client.status(handle)[:2], [0, 0])


@each("a foreground job is completed by a beanstalk delete", GEARMAN, BEANSTALK)
def foreground_to_consumer(world: World, client_library: str, consumer: str) -> None:
    client, bean = world.client(client_library), world.beanstalk(consumer)
    bean.start_reserve(world.tube())
    handle = client.submit(world.tube(), EVERY_BYTE)
    job = bean.reserved()
    equal("id and body", (job.job_id, job.body), (id_of(handle), EVERY_BYTE))
    bean.delete(job.job_id)
    equal("end", client.end(), ("complete", b""))


@each("WORK_FAIL of a put job buries it", GEARMAN)
def fail_buries(world: World, worker_library: str) -> None:
    bean, worker = world.beanstalk(), world.worker(worker_library)
    job_id = bean.put(world.tube(), "keep me")
    worker.take(world.tube())
    worker.finish("fail")
    world.wait("the job is buried", lambda: bean.job(job_id)["state"] == "buried")
    equal("peek-buried", bean.peek("buried", world.tube()).body, b"keep me")
    equal("buries", bean.job(job_id)["buries"], "1")
    equal("kick", bean.ask("kick", world.tube(), 10), [b"1"])
    equal("it comes back", id_of(worker.take(world.tube()).handle), job_id)
    worker.finish("complete", "")
    world.wait("the job is gone", lambda: not bean.exists(job_id))


@each("WORK_EXCEPTION of a put job buries it", GEARMAN)
def exception_buries(world: World, worker_library: str) -> None:
    bean, worker = world.beanstalk("fivebeans"), world.worker(worker_library)
    job_id = bean.put(world.tube(), "keep me")
    worker.take(world.tube())
    worker.finish("exception", "broken")
    world.wait("the job is buried", lambda: bean.job(job_id)["state"] == "buried")
    worker.actor.kill()
    bean.ask("kick-job", job_id)
    equal("it comes back", bean.reserve(world.tube()).job_id, job_id)
    bean.delete(job_id)


@each("WORK_FAIL of a submitted job removes it", GEARMAN)
def fail_removes(world: World, worker_library: str) -> None:
    bean, client = world.beanstalk(), world.client("libgearman")
    worker = world.worker(worker_library)
    handle = client.background(world.tube(), "x")
    worker.take(world.tube())
    worker.finish("fail")
    world.wait("the job is gone", lambda: not bean.exists(id_of(handle)))


@case("a function that beanstalk cannot name is listed")
def odd_name(world: World) -> None:
    name = "two words: #1 'quoted' \"twice\" - ünïcode"
    world.client("php").background(name, "x")
    for library in ("beaneater", "fivebeans"):
        check(f"list-tubes read by {library}", name in world.beanstalk(library).tubes())
    worker = world.worker("perl")
    equal("and done by a worker", worker.take(name).body, b"x")
    worker.finish("complete", "")


@case("ids rise over both protocols")
def ids_rise(world: World) -> None:
    bean, client = world.beanstalk(), world.client("php")
    ids = []
    for _ in range(3):
        ids.append(bean.put(world.tube(), "x"))
        ids.append(id_of(client.background(world.tube(), "x")))
    equal("every id is greater than the one before", ids, sorted(set(ids)))
