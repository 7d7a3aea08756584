import { observable } from './observable.ts'

/** The service's time minus the browser's, in milliseconds, as far as responses show. */
export const clockOffset = observable(0)

/**
 * Returns the offset after a response: the same if the response agrees with it, however long it took. `date` is the time when
 * the service handled the request, in whole seconds.
 */
export const offsetAfter = (
  offset: number,
  { date, sentAt, receivedAt }: { readonly date: string | null; readonly sentAt: number; readonly receivedAt: number },
): number => {
  const time = Date.parse(date ?? '')
  if (Number.isNaN(time)) return offset
  const [lowest, highest] = [time - receivedAt, time + 1000 - sentAt]
  return offset >= lowest && offset <= highest ? offset : (lowest + highest) / 2
}

export const learnOffset = ({ headers }: Response, sentAt: number): void =>
  clockOffset.set(offsetAfter(clockOffset.get(), { date: headers.get('date'), sentAt, receivedAt: Date.now() }))
