/** A page that is gone back to may take so long until it is as tall as before. */
const MAX_WAIT_MS = 3000
/** The page before is still shown for a moment: the position has to last. */
const FRAMES = 10

/** Scroll positions by history entry. */
const places = new Map<string, number>()
let isRestoring = false

const currentKey = (): string | undefined => window.navigation?.currentEntry?.key

/** Scrolls again and again until the page is tall enough, unless the user does something. */
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

/** The browser restores the position at once, when the page has no rows yet: this waits for them. */
export const keepScrollPlaces = (): void => {
  window.addEventListener('scroll', note, { passive: true })
  window.addEventListener('popstate', goBack)
}

/** Whether the position of a page that was gone back to is being restored: nothing else may scroll. */
export const isGoingBack = (): boolean => isRestoring
