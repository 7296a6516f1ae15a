// Rates a second from objects that come again and again: the server and tubes.
const WINDOW = 12000;  // ms

export class Rates {
  #samples = new Map();  // key -> [{at, put, gone}], oldest first

  // Counters of ends overlap: a job that its worker deletes is completed and deleted. So `gone` is
  // the number of jobs that were put less those that are there.
  add(key, { counters, jobs }, at = performance.now()) {
    const samples = this.#samples.get(key) ?? [];
    const put = counters.put_total;
    // A counter that fell belongs to a broker that started anew.
    if (put < samples.at(-1)?.put) samples.length = 0;
    samples.push({ at, put, gone: put - jobs.ready - jobs.reserved - jobs.delayed - jobs.buried });
    while (samples.length > 2 && at - samples[1].at > WINDOW) samples.shift();
    this.#samples.set(key, samples);
  }

  // `what`: put or gone. Null before there are two samples.
  of(key, what) {
    const samples = this.#samples.get(key) ?? [];
    const [first, last] = [samples[0], samples.at(-1)];
    const seconds = first ? (last.at - first.at) / 1000 : 0;
    return seconds < 0.2 ? null : Math.max(0, (last[what] - first[what]) / seconds);
  }
}
