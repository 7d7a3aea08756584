/** Aborted by the first SIGINT or SIGTERM. A second one ends the process at once, as by default. */
export const stopOnSignals = (): AbortSignal => {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => stop.abort(new Error(`The agent was stopped (${name}).`)))
  }
  return stop.signal
}
