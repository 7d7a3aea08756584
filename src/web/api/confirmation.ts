import { ApiError } from '../../client/client.ts'
import { accountToConfirm, askToConfirm } from './session.ts'
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

/** True if a request was refused because the person must confirm their identity: many other refusals have the same code. */
const mustConfirm = async (error: unknown): Promise<boolean> => {
  if (!(error instanceof ApiError) || error.code !== 'forbidden') return false
  return accountToConfirm().then(
    (account) => account.must_confirm,
    // The dialog shows this error too, and tries again.
    () => true,
  )
}

/** Changes how the person signs in. If they confirmed their identity too long ago for that, asks for it and tries again. */
export const changeFactors = async <Result>(act: () => Promise<Result>): Promise<Result> => {
  try {
    return await act()
  } catch (error) {
    if (!(await mustConfirm(error))) throw error
    await confirmation()
    return act().catch(async (again: unknown) => {
      if (!(await mustConfirm(again))) throw again
      throw new Error('Confirm it’s you before you change how you sign in: try again, or sign out and sign in again.')
    })
  }
}
