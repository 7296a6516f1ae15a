"""A TCP proxy on loopback whose link is slow."""

import asyncio
import threading
from types import TracebackType


class SlowLink:
    """Passes on what comes after `delay` seconds, which may change, at `rate` bytes a second in each
    direction."""

    def __init__(self, to: int, delay: float = 0.0, rate: float = 1e9) -> None:
        self._to, self.delay, self._rate = to, delay, rate
        self._ready = threading.Event()
        self._serving: set[asyncio.Task | None] = set()  # asyncio itself keeps none of them
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        self._ready.wait()

    async def _run(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._over.wait()
        server.close()

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self._serving.add(task := asyncio.current_task())
        task.add_done_callback(self._serving.discard)
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            to_client.close()
            return
        try:
            await asyncio.gather(self._pump(client, to_server), self._pump(server, to_client))
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            to_server.close()
            to_client.close()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        due = 0.0

        def later(call: object, *words: object) -> None:
            """Behind what came before, also when that had a longer delay."""
            nonlocal due
            due = max(due + 1e-6, self._loop.time() + self.delay)
            self._loop.call_at(due, call, *words)
        try:
            while data := await source.read(16_384):
                await asyncio.sleep(len(data) / self._rate)
                later(sink.write, data)
        except OSError:
            pass  # as the end
        later(sink.close)

    def __enter__(self) -> "SlowLink":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
