/** Requests sent longer than this after the last input are not counted as caused by the user. */
const RECENT_MS = 60_000

let lastInput = performance.now()

for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchmove']) {
  const note = (): void => {
    lastInput = performance.now()
  }
  // Tests of the event stream run without a window.
  globalThis.addEventListener?.(type, note, { capture: true, passive: true })
}

/** The header for requests that a page sends on its own, which do not count as activity in the session. */
export const backgroundHeaders = (): Readonly<Record<string, string>> =>
  performance.now() - lastInput > RECENT_MS ? { 'x-service-background': '1' } : {}
