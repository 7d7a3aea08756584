/** Returns the peak resident memory while `work` runs, in bytes. */
export const peakDuring = async (work: () => Promise<unknown>): Promise<number> => {
  let peak = process.memoryUsage.rss()
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }, 10)
  await work()
  clearInterval(timer)
  return peak
}
