/** How long a page may take, after going back to it, to become as tall as before. */
const MAX_WAIT_MS = 3000
/** The previous page is still visible for a moment, so the position must be stable for this many frames. */
const FRAMES = 10

/** Scroll positions by history entry. */
const places = new Map<string, number>()
let isRestoring = false

const currentKey = (): string | undefined => window.navigation?.currentEntry?.key

/** Scrolls repeatedly until the page is tall enough, unless the user does something. */
const restore = (place: number): void => {
  const control = new AbortController()
  const end = performance.now() + MAX_WAIT_MS
  let reached = 0
  isRestoring = true
  const finish = (): void => {
    isRestoring = false
    control.abort()
  }
  for (const type of ['wheel', 'pointerdown', 'keydown', 'touchmove', 'popstate']) {
    window.addEventListener(type, finish, { passive: true, signal: control.signal })
  }
  const attempt = (): void => {
    if (control.signal.aborted) return
    window.scrollTo(0, place)
    reached = Math.abs(window.scrollY - place) <= 1 ? reached + 1 : 0
    if (reached >= FRAMES || performance.now() > end) finish()
    else requestAnimationFrame(attempt)
  }
  attempt()
}

const note = (): void => {
  const key = currentKey()
  if (key !== undefined && !isRestoring) places.set(key, window.scrollY)
}

const goBack = (): void => {
  const place = places.get(currentKey() ?? '')
  if (place !== undefined) restore(place)
}

/** Restores scroll positions after going back. The browser would do so immediately, before the page has any rows. */
export const keepScrollPlaces = (): void => {
  window.addEventListener('scroll', note, { passive: true })
  window.addEventListener('popstate', goBack)
}

/** True while the position of a page is being restored: nothing else may scroll. */
export const isGoingBack = (): boolean => isRestoring
