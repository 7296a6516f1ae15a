"""Workers, consumers and clients that go away or are too slow."""

import os
import signal

from bridge.actor import Refused
from bridge.registry import case, each
from bridge.roles import Beanstalk, GearmanClient, id_of
from bridge.world import BEANSTALK, GEARMAN, Failed, World, check, equal


@each("a consumer that dies leaves its job to a worker", BEANSTALK)
def consumer_dies(world: World, library: str) -> None:
    client, bean, worker = world.client("perl"), world.beanstalk(library), world.worker("php")
    handle = client.submit(world.tube(), "survives")
    bean.reserve(world.tube())
    worker.start(world.tube())
    bean.actor.kill()
    equal("the same job", worker.job().handle, handle)
    check("the client heard nothing", client.actor.idle())
    worker.finish("complete", "by another")
    equal("end", client.end(), ("complete", b"by another"))


@each("a worker that dies leaves its job to a consumer", GEARMAN)
def worker_dies(world: World, library: str) -> None:
    bean, other, worker = world.beanstalk(), world.beanstalk("jackd"), world.worker(library)
    job_id = bean.put(world.tube(), "survives")
    worker.take(world.tube())
    other.start_reserve(world.tube())
    worker.actor.kill()
    equal("the same job", other.reserved().job_id, job_id)
    stats = bean.job(job_id)
    equal("neither a release nor a timeout", [stats["releases"], stats["timeouts"]], ["0", "0"])
    other.delete(job_id)


@case("a put job's ttr ends a Gearman worker's hold")
def ttr_passes(world: World) -> None:
    bean, worker = world.beanstalk(), world.worker("libgearman")
    job_id = bean.put(world.tube(), "too slow", ttr=1)
    worker.take(world.tube())
    equal("a consumer gets it", bean.reserve(world.tube()).job_id, job_id)
    check("timeouts", int(bean.job(job_id)["timeouts"]) >= 1)
    worker.finish("complete", "too late")
    world.client("libgearman").background(world.tube("-sync"), "x")
    # Its consumer's ttr may be over, too.
    check("the late report changes nothing", bean.job(job_id)["state"] in ("reserved", "ready"))
    bean.delete(job_id)


@each("a report of a Gearman worker starts the ttr anew", ["progress", "data", "warning"])
def report_touches(world: World, report: str) -> None:
    bean, worker = world.beanstalk(), world.worker("php")
    job_id = bean.put(world.tube(), "long", ttr=100)
    worker.take(world.tube())
    world.wait("some time passes", lambda: int(bean.job(job_id)["time-left"]) <= 90)
    worker.step(report, *((1, 2) if report == "progress" else ("still here",)))
    world.wait("the deadline moves", lambda: int(bean.job(job_id)["time-left"]) > 90)
    worker.finish("complete", "")


@each("a waiting job dies with its last client", GEARMAN)
def client_leaves(world: World, library: str) -> None:
    bean, client = world.beanstalk(), world.client(library)
    handle = client.submit(world.tube(), "nobody waits")
    check("it waits", bean.exists(id_of(handle)))
    client.actor.kill()
    world.wait("it is gone", lambda: not bean.exists(id_of(handle)))
    check("from every count", world.status(world.tube()) in (None, [0, 0, 0]))


def kill_and_wait(world: World, bean: Beanstalk, client: GearmanClient) -> None:
    """Kills a client and waits until the broker has noticed."""
    connections = int(bean.stats()["current-connections"])
    client.actor.kill()
    world.wait("the client is gone",
               lambda: int(bean.stats()["current-connections"]) < connections)


@each("a running job ends unheard when its client is gone", GEARMAN, alone=True)
def client_leaves_running(world: World, library: str) -> None:
    bean, client = world.beanstalk(), world.client(library)
    client.submit(world.tube(), "nobody waits")
    job = bean.reserve(world.tube())
    kill_and_wait(world, bean, client)
    bean.reply(job.job_id, "to nobody")
    bean.delete(job.job_id)
    check("gone", not bean.exists(job.job_id))


@case("a background job survives a client that joined and left", alone=True)
def joined_and_left(world: World) -> None:
    bean, first, second = world.beanstalk(), world.client("php"), world.client("perl")
    handle = first.background(world.tube(), "kept", "the-key")
    equal("joins", second.submit(world.tube(), "kept", "the-key"), handle)
    kill_and_wait(world, bean, second)
    equal("a consumer gets it", bean.reserve(world.tube()).job_id, id_of(handle))
    bean.delete(id_of(handle))


@each("a foreground job joined by a background submission is kept", GEARMAN, alone=True)
def background_joins(world: World, library: str) -> None:
    bean, waiting, keeping = world.beanstalk(), world.client(library), world.client("libgearman")
    handle = waiting.submit(world.tube(), "kept", "the-key")
    equal("joins", keeping.background(world.tube(), "kept", "the-key"), handle)
    kill_and_wait(world, bean, waiting)
    equal("a consumer gets it", bean.reserve(world.tube()).job_id, id_of(handle))
    bean.delete(id_of(handle))


@each("maxqueue refuses a put and a submission", BEANSTALK)
def maxqueue(world: World, library: str) -> None:
    bean, client = world.beanstalk(library), world.client("libgearman")
    first = bean.put(world.tube(), "one")
    equal("maxqueue", world.admin_line(f"maxqueue {world.tube()} 2"), "OK")
    bean.put(world.tube(), "two")
    for body in ("three", "a body\r\nthat looks like commands\r\nstats"):
        try:
            bean.put(world.tube(), body)
        except Refused as refused:
            equal("put", refused.word, "OUT_OF_MEMORY")
        else:
            raise Failed("a put over maxqueue was taken")
    try:
        client.background(world.tube(), "three")
    except Refused as refused:
        check(f"a submission: {refused.word}", "QUEUE" in refused.word.upper())
    else:
        raise Failed("a submission over maxqueue was taken")
    bean.delete(first)
    bean.put(world.tube(), "there is room again")
    equal("lift", world.admin_line(f"maxqueue {world.tube()}"), "OK")
    bean.put(world.tube(), "any number")
    client.background(world.tube(), "of jobs")
    equal("jobs", (world.status(world.tube()) or [])[:1], [4])


@case("drain mode refuses puts and submissions, work goes on", last=True)
def drain(world: World) -> None:
    bean, client, worker = world.beanstalk("fivebeans"), world.client("php"), world.worker("perl")
    waiting = world.client("libgearman")
    waiting.submit(world.tube(), "before")
    pid = int(bean.stats()["pid"])
    os.kill(pid, signal.SIGUSR1)
    world.wait("stats shows it", lambda: bean.stats()["draining"] == "true")
    try:
        bean.put(world.tube(), "late")
    except Refused as refused:
        equal("put", refused.word, "DRAINING")
    else:
        raise Failed("a put was taken in drain mode")
    try:
        client.background(world.tube(), "late")
    except Refused as refused:
        check("the library names an error", refused.word != "")
    else:
        raise Failed("a submission was taken in drain mode")
    equal("work goes on", worker.take(world.tube()).body, b"before")
    worker.finish("complete", "done")
    equal("end", waiting.end(), ("complete", b"done"))
