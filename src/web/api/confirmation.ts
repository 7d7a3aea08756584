import { ApiError } from '../../client/client.ts'
import { askToConfirm } from './session.ts'
import { sessionLock } from './session-lock.ts'

/** Asks for a confirmation over the page, and waits until it was given or canceled. */
const confirmation = (): Promise<void> =>
  new Promise((resolve) => {
    askToConfirm()
    if (sessionLock.get()?.session.person?.restriction !== 'confirm') return resolve()
    const unfollow = sessionLock.follow(() => {
      if (sessionLock.get() !== null) return
      unfollow()
      resolve()
    })
  })

const isRefused = (error: unknown): boolean => error instanceof ApiError && error.status === 403

/** Changes how the person signs in. If they confirmed their identity too long ago for that, asks for it and tries again. */
export const changeFactors = async <Result>(act: () => Promise<Result>): Promise<Result> => {
  try {
    return await act()
  } catch (error) {
    if (!isRefused(error)) throw error
    await confirmation()
    return act().catch((again: unknown) => {
      if (!isRefused(again)) throw again
      throw new Error('Confirm it’s you before you change how you sign in: try again, or sign out and sign in again.')
    })
  }
}
