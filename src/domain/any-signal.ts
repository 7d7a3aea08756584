/** Keeps the sources of a signal for as long as the signal itself. */
const sourcesOf = new WeakMap<AbortSignal, readonly AbortSignal[]>()

/**
 * Returns a signal that aborts with the first of `signals`; absent ones are skipped. AbortSignal.any alone would lose timeouts: Node
 * collects a source that nothing else refers to, which then never aborts (nodejs/node#57736, #65995).
 */
export const anySignal = (...signals: readonly (AbortSignal | undefined)[]): AbortSignal => {
  const sources = signals.filter((signal) => signal !== undefined)
  if (sources.length === 1) return sources[0]!
  // biome-ignore lint/plugin: the one place that keeps the sources
  const any = AbortSignal.any(sources)
  sourcesOf.set(any, sources)
  return any
}

const followers = new WeakMap<AbortSignal, { readonly all: Set<AbortController>; readonly abort: () => void }>()

/**
 * Aborts `controller` with `signal`, until the returned function is called: then nothing is left in the signal, in which each
 * combined one would leave some bytes. However many follow a signal, it has one listener.
 */
export const abortWith = (signal: AbortSignal, controller: AbortController): (() => void) => {
  if (signal.aborted) controller.abort(signal.reason)
  const { all, abort } = followers.get(signal) ?? follow(signal)
  all.add(controller)
  return () => {
    if (!all.delete(controller) || all.size > 0) return
    followers.delete(signal)
    signal.removeEventListener('abort', abort)
  }
}

const follow = (signal: AbortSignal) => {
  const all = new Set<AbortController>()
  const abort = (): void => {
    for (const each of all) each.abort(signal.reason)
  }
  followers.set(signal, { all, abort })
  signal.addEventListener('abort', abort)
  return { all, abort }
}
