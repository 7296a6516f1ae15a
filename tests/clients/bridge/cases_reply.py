"""What a waiting Gearman client hears from a beanstalk consumer."""

from bridge.actor import Refused
from bridge.registry import case, each
from bridge.roles import Beanstalk, id_of
from bridge.world import BEANSTALK, GEARMAN, Failed, World, check, equal


def refused(word: str, call: object, *args: object) -> None:
    try:
        call(*args)  # type: ignore[operator]
    except Refused as error:
        equal("answer", error.word, word)
        return
    raise Failed(f"no {word}")


@each("an answer through $reply", GEARMAN, BEANSTALK)
def reply(world: World, client_library: str, consumer: str) -> None:
    client, bean = world.client(client_library), world.beanstalk(consumer)
    client.submit(world.tube(), "question")
    job = bean.reserve(world.tube())
    bean.reply(job.job_id, "first part")
    equal("a first part", client.actor.event("data"), [b"first part"])
    bean.reply(job.job_id, "second part\r\nwith a second line")
    equal("a second part", client.actor.event("data"), [b"second part\r\nwith a second line"])
    check("the answers are no jobs", total_jobs(bean, f"$reply/{job.job_id}") in ("none", "0"))
    bean.delete(job.job_id)
    equal("end", client.end(), ("complete", b""))


def total_jobs(bean: Beanstalk, tube: str) -> str:
    return bean.tube(tube)["total-jobs"] if tube in bean.tubes() else "none"


@case("$reply of a job that somebody else holds is NOT_FOUND")
def reply_by_stranger(world: World) -> None:
    client, holder, stranger = world.client("perl"), world.beanstalk(), world.beanstalk("fivebeans")
    client.submit(world.tube(), "question")
    job = holder.reserve(world.tube())
    refused("NOT_FOUND", stranger.reply, job.job_id, "not mine")
    refused("NOT_FOUND", stranger.reply, 99_999_999, "nobody's")
    holder.reply(job.job_id, "mine")
    equal("only the holder is heard", client.actor.event("data"), [b"mine"])
    holder.delete(job.job_id)
    equal("end", client.end(), ("complete", b""))
    refused("NOT_FOUND", holder.reply, job.job_id, "too late")


@case("$reply reaches every client of the job")
def reply_to_all(world: World) -> None:
    clients = [world.client(library) for library in ("perl", "php", "libgearman")]
    bean = world.beanstalk("jackd")
    handles = {client.submit(world.tube(), "question", "one-key") for client in clients}
    equal("one handle", len(handles), 1)
    job = bean.reserve(world.tube())
    bean.reply(job.job_id, "for all")
    bean.delete(job.job_id)
    for client in clients:
        equal(f"data for {client.actor.name}", client.actor.event("data"), [b"for all"])
        equal(f"end for {client.actor.name}", client.end(), ("complete", b""))


@each("bury tells the client that the job failed", GEARMAN, BEANSTALK)
def bury(world: World, client_library: str, consumer: str) -> None:
    client, bean = world.client(client_library), world.beanstalk(consumer)
    handle = client.submit(world.tube(), "fragile")
    job = bean.reserve(world.tube())
    bean.ask("bury", job.job_id, 5)
    equal("end", client.end()[0], "fail")
    equal("the job is kept", bean.peek("buried", world.tube()).body, b"fragile")
    equal("kick", bean.ask("kick", world.tube(), 1), [b"1"])
    worker = world.worker("php")
    equal("a kicked job runs", worker.take(world.tube()).handle, handle)
    worker.finish("complete", "unheard")
    world.wait("the job is gone", lambda: not bean.exists(job.job_id))


@each("release lets the job run again for the same client", GEARMAN, BEANSTALK)
def release(world: World, client_library: str, consumer: str) -> None:
    client, bean = world.client(client_library), world.beanstalk(consumer)
    handle = client.submit(world.tube(), "again")
    job = bean.reserve(world.tube())
    bean.ask("release", job.job_id, 65536, 1)
    equal("releases", bean.job(job.job_id)["releases"], "1")
    worker = world.worker("libgearman")
    equal("the same job, when its delay is over", worker.take(world.tube()).handle, handle)
    check("the client heard nothing", client.actor.idle())
    worker.finish("complete", "second try")
    equal("end", client.end(), ("complete", b"second try"))


@each("a job deleted before it ran fails for its client", GEARMAN)
def delete_ready(world: World, client_library: str) -> None:
    client, bean = world.client(client_library), world.beanstalk()
    handle = client.submit(world.tube(), "never")
    bean.delete(id_of(handle))
    equal("end", client.end()[0], "fail")


@each("cancel job fails the client and hides the job from beanstalk", GEARMAN)
def cancel(world: World, client_library: str) -> None:
    client, bean = world.client(client_library), world.beanstalk()
    handle = client.submit(world.tube(), "never")
    equal("gearadmin", world.gearadmin("--cancel-job", handle).strip(), "OK")
    equal("end", client.end()[0], "fail")
    check("gone", not bean.exists(id_of(handle)))


@case("cancel job removes a put job")
def cancel_put(world: World) -> None:
    bean, client = world.beanstalk(), world.client("php")
    prefix = client.background(world.tube("-other"), "x").rpartition(":")[0]
    job_id = bean.put(world.tube(), "never")
    equal("gearadmin", world.gearadmin("--cancel-job", f"{prefix}:{job_id}").strip(), "OK")
    check("gone", not bean.exists(job_id))


@case("a beanstalk consumer takes over from a Gearman worker")
def both_consume(world: World) -> None:
    clients = [world.client(library) for library in ("perl", "php", "libgearman")]
    bean, worker = world.beanstalk(), world.worker("perl")
    for number, client in enumerate(clients):
        client.submit(world.tube(), f"job {number}")
    first = worker.take(world.tube())
    second = bean.reserve(world.tube())
    equal("in their order", (first.body, second.body), (b"job 0", b"job 1"))
    bean.delete(second.job_id)
    worker.finish("complete", "by the worker")
    third = bean.reserve(world.tube())
    bean.reply(third.job_id, "by the consumer")
    bean.delete(third.job_id)
    equal("first", clients[0].end(), ("complete", b"by the worker"))
    equal("second", clients[1].end(), ("complete", b""))
    equal("third", clients[2].actor.event("data"), [b"by the consumer"])
    equal("its end", clients[2].end(), ("complete", b""))
