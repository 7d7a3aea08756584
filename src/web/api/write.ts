import { unwrap } from '../../client/client.ts'
import { queries, Unreachable } from './client.ts'

/**
 * One call that changes something: what is in view is asked for anew. `leave` goes to another page before that, where what
 * was in view is no more. @throws ApiError in the service's words, Unreachable
 */
export const write = async <Data>(
  answer: Parameters<typeof unwrap<Data>>[0],
  leave: () => void = () => undefined,
): Promise<NonNullable<Data>> => {
  const body = await unwrap<Data>(
    await Promise.resolve(answer).catch((error: unknown) => {
      throw new Unreachable(error)
    }),
  )
  leave()
  await queries.invalidateQueries()
  return body
}
