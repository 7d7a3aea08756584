import { unwrap } from '../../client/client.ts'
import { queries, Unreachable } from './client.ts'

/** One call that changes something: what is in view is asked for anew. @throws ApiError in the service's words, Unreachable */
export const write = async <Data>(answer: Parameters<typeof unwrap<Data>>[0]): Promise<NonNullable<Data>> => {
  const body = await unwrap<Data>(
    await Promise.resolve(answer).catch((error: unknown) => {
      throw new Unreachable(error)
    }),
  )
  await queries.invalidateQueries()
  return body
}
