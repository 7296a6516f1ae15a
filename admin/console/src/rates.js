// Rates a second from the counters of objects that come again and again.
const WINDOW = 12000;  // ms

export class Rates {
  #samples = new Map();  // key -> [{at, counters}], oldest first

  add(key, counters, at = performance.now()) {
    const samples = this.#samples.get(key) ?? [];
    const last = samples[samples.length - 1];
    // A counter that fell belongs to a broker that started anew.
    if (last && counters.put_total < last.counters.put_total) samples.length = 0;
    samples.push({ at, counters });
    while (samples.length > 2 && at - samples[1].at > WINDOW) samples.shift();
    this.#samples.set(key, samples);
  }

  // The sum of the named counters a second; null before there are two samples.
  of(key, ...names) {
    const samples = this.#samples.get(key);
    if (!samples || samples.length < 2) return null;
    const [first, last] = [samples[0], samples[samples.length - 1]];
    const seconds = (last.at - first.at) / 1000;
    if (seconds < 0.2) return null;
    const sum = (counters) => names.reduce((total, name) => total + (counters[name] ?? 0), 0);
    return Math.max(0, (sum(last.counters) - sum(first.counters)) / seconds);
  }
}

export const ENDS = ["completed_total", "failed_total", "deleted_total", "cancelled_total", "dropped_total"];
