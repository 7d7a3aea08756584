/** A fair queue: round-robin by organization, so that many items of one do not hold up another's. */
export class FairQueue<T extends { readonly key: string }> {
  /** Organizations with waiting items, in the order of their turns. */
  readonly #queues = new Map<string, Map<string, T>>()
  #size = 0

  /** The number of waiting items of all organizations. */
  get size(): number {
    return this.#size
  }

  sizeOf(org: string): number {
    return this.#queues.get(org)?.size ?? 0
  }

  find(org: string, key: string): T | undefined {
    return this.#queues.get(org)?.get(key)
  }

  add(org: string, item: T): void {
    const queue = this.#queues.get(org) ?? new Map<string, T>()
    queue.set(item.key, item)
    this.#queues.set(org, queue)
    this.#size++
  }

  remove(org: string, { key }: T): void {
    const queue = this.#queues.get(org)
    if (queue?.delete(key) !== true) return
    this.#size--
    if (queue.size === 0) this.#queues.delete(org)
  }

  /** Removes and returns the oldest item of the organization whose turn it is; skips organizations in `except`. */
  next(except: { has(org: string): boolean } = new Set()): { readonly org: string; readonly item: T } | undefined {
    for (const [org, queue] of this.#queues) {
      const item = except.has(org) ? undefined : queue.values().next().value
      if (item === undefined) continue
      this.#queues.delete(org)
      this.#queues.set(org, queue)
      this.remove(org, item)
      return { org, item }
    }
    return undefined
  }
}
