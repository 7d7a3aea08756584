import type { components } from '../../client/client.ts'
import { observable } from './observable.ts'

type Session = components['schemas']['Session']

/** While set, the page stays mounted under a dialog that asks the user to confirm their identity or to sign in again. */
interface SessionLock {
  readonly session: Session
  /** The user requested the dialog, to change how they sign in; the session itself is not restricted. */
  readonly isRequested: boolean
}

export const sessionLock = observable<SessionLock | null>(null)

export const isLocked = (): boolean => sessionLock.get()?.isRequested === false

/** Waits until the session can read again; until then, the service would refuse every request. @throws if aborted */
export const whenUnlocked = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (!isLocked()) return resolve()
    const unfollow = sessionLock.follow(() => {
      if (isLocked()) return
      unfollow()
      resolve()
    })
    signal.addEventListener('abort', () => {
      unfollow()
      reject(signal.reason)
    })
  })
