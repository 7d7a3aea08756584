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
