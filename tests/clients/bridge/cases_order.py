"""Priorities, unique keys, delays and pauses over both protocols."""

import time

from bridge.registry import case, each
from bridge.roles import Beanstalk, GearmanClient, id_of
from bridge.world import BEANSTALK, GEARMAN, World, check, equal

# In the order in which they must leave: by number, then by age. HIGH is 512, NORMAL 65536,
# LOW 131072.
LEAVING = ["put 0", "high", "put 512", "put 1000", "put 65536", "normal", "put 70000", "low",
           "put 200000"]
ENTERING = ["put 200000", "low", "put 70000", "put 65536", "normal", "put 1000", "high", "put 512",
            "put 0"]


def fill(bean: Beanstalk, client: GearmanClient, tube: str) -> None:
    for name in ENTERING:
        if name.startswith("put"):
            bean.put(tube, name, pri=int(name.split()[1]))
        else:
            client.background(tube, name, "", name)


@each("a beanstalk consumer sees one order of priorities", BEANSTALK)
def order_for_consumer(world: World, library: str) -> None:
    bean = world.beanstalk(library)
    fill(bean, world.client("php"), world.tube())
    got = []
    for _ in LEAVING:
        job = bean.reserve(world.tube())
        got.append(job.body.decode())
        bean.delete(job.job_id)
    equal("order", got, LEAVING)


@each("a Gearman worker sees one order of priorities", GEARMAN)
def order_for_worker(world: World, library: str) -> None:
    bean, worker = world.beanstalk(), world.worker(library)
    fill(bean, world.client("perl"), world.tube())
    equal("gearadmin counts by class", (world.priority_status(world.tube()) or [])[:3], [4, 2, 3])
    got = []
    for _ in LEAVING:
        got.append(worker.take(world.tube()).body.decode())
        worker.finish("complete", "")
    equal("order", got, LEAVING)


@each("the most urgent job of all functions leaves first", GEARMAN)
def order_over_functions(world: World, library: str) -> None:
    bean, client, worker = world.beanstalk(), world.client("php"), world.worker(library)
    one, two = world.tube("-one"), world.tube("-two")
    client.background(one, "low", "", "low")
    bean.put(two, "put 3", pri=3)
    client.background(two, "normal", "", "normal")
    client.background(one, "high", "", "high")
    got = []
    for _ in range(4):
        got.append(worker.take(one, two).body.decode())
        worker.finish("complete", "")
    equal("order", got, ["put 3", "high", "normal", "low"])


@each("a unique key joins clients of a reserved job", GEARMAN, ["beaneater"])
def unique_join(world: World, library: str, consumer: str) -> None:
    first, second = world.client("libgearman"), world.client(library)
    bean = world.beanstalk(consumer)
    handle = first.background(world.tube(), "first", "the-key")
    job = bean.reserve(world.tube())
    equal("the same handle", second.submit(world.tube(), "second", "the-key"), handle)
    equal("one job", bean.tube(world.tube())["current-jobs-ready"], "0")
    bean.reply(job.job_id, "for the late one")
    bean.delete(job.job_id)
    equal("data", second.actor.event("data"), [b"for the late one"])
    equal("end", second.end(), ("complete", b""))
    again = first.background(world.tube(), "third", "the-key")
    check("the key is free again", id_of(again) > id_of(handle))
    bean.delete(id_of(again))


@case("the key of a job reaches a Gearman worker, a put job has none")
def unique_seen(world: World) -> None:
    bean, client, worker = world.beanstalk(), world.client("php"), world.worker("libgearman")
    client.background(world.tube(), "x", "seen-key")
    equal("key", worker.take(world.tube()).unique, "seen-key")
    worker.finish("complete", "")
    bean.put(world.tube(), "x")
    equal("no key", worker.take(world.tube()).unique, "")
    worker.finish("complete", "")


@each("a put with a delay wakes a sleeping worker", GEARMAN)
def delayed_put(world: World, library: str) -> None:
    bean, worker = world.beanstalk(), world.worker(library)
    worker.start(world.tube())
    world.wait_asleep(bean, world.tube())
    begun = time.monotonic()
    job_id = bean.put(world.tube(), "due", delay=2)
    job = worker.job()
    check("not before", time.monotonic() - begun >= 1.9)
    equal("job", (id_of(job.handle), job.body), (job_id, b"due"))
    worker.finish("complete", "")


@each("an epoch job reaches a waiting consumer", BEANSTALK)
def epoch(world: World, library: str) -> None:
    bean, other, client = world.beanstalk(library), world.beanstalk(), world.client("libgearman")
    bean.start_reserve(world.tube())
    world.wait_asleep(other, world.tube())
    begun = time.monotonic()
    handle = client.epoch(world.tube(), "due", 3)
    job = bean.reserved()
    check("not before the second begins", time.monotonic() - begun >= 1.9)
    equal("job", (job.job_id, job.body), (id_of(handle), b"due"))
    bean.delete(job.job_id)


@case("an epoch job in the far future hides nothing")
def far_epoch(world: World) -> None:
    client, worker, bean = world.client("libgearman"), world.worker("perl"), world.beanstalk()
    handle = client.epoch(world.tube(), "far", 3600)
    client.background(world.tube(), "low", "", "low")
    equal("the job behind it", worker.take(world.tube()).body, b"low")
    worker.finish("complete", "")
    equal("kick makes it ready", bean.ask("kick", world.tube(), 1), [b"1"])
    equal("and it runs", worker.take(world.tube()).handle, handle)
    worker.finish("complete", "")


@each("pause-tube holds back Gearman workers", GEARMAN)
def pause(world: World, library: str) -> None:
    bean, client, worker = world.beanstalk(), world.client("php"), world.worker(library)
    handle = client.background(world.tube(), "patience")
    bean.ask("pause", world.tube(), 1000)
    worker.start(world.tube())
    world.wait_asleep(bean, world.tube())
    client.background(world.tube(), "more")
    check("the worker gets nothing", worker.actor.idle())
    equal("both wait", bean.tube(world.tube())["current-jobs-ready"], "2")
    bean.ask("pause", world.tube(), 0)
    equal("until the pause is over", worker.job().handle, handle)
    worker.finish("complete", "")


@case("a pause that ends by itself wakes workers and consumers")
def pause_ends(world: World) -> None:
    bean, consumer, worker = world.beanstalk(), world.beanstalk("fivebeans"), world.worker("perl")
    bean.put(world.tube(), "one")
    bean.put(world.tube(), "two")
    bean.ask("pause", world.tube(), 2)
    worker.start(world.tube())
    consumer.start_reserve(world.tube())
    bodies = {worker.job().body, consumer.reserved().body}
    equal("each gets one", bodies, {b"one", b"two"})
    worker.finish("complete", "")
