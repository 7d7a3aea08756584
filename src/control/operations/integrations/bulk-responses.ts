import { isObject } from '../../../domain/is-object.ts'
import { jsonOrNull } from '../../../domain/parse-json.ts'

/** Why a receiver that reported success has not stored everything: as if these had been its status and its response. */
export interface Refusal {
  readonly status: number
  readonly response: string
}

interface Item {
  readonly status: number
  readonly error: unknown
}

/** The document exists: it was stored the last time. */
const ALREADY_STORED = 409

/** Null if it is not a response of a bulk API. Reads nothing else of a response without errors. */
const itemsOf = (text: string): readonly Item[] | null => {
  const response = jsonOrNull(text)
  if (!isObject(response)) return null
  if (response.errors === false) return []
  if (!Array.isArray(response.items)) return null
  const items = response.items.map((item: unknown) => (isObject(item) ? Object.values(item)[0] : null))
  const isWhole = items.every((item) => isObject(item) && typeof item.status === 'number')
  return isWhole ? (items as Item[]) : null
}

const textOf = (error: unknown): string => {
  if (!isObject(error)) return typeof error === 'string' ? error : ''
  const cause = isObject(error.caused_by) ? error.caused_by.reason : undefined
  const reasons = [error.type, error.reason, cause].filter((text) => typeof text === 'string' && text !== '')
  return reasons.join(': ')
}

/**
 * Finds a refusal in a bulk API response of Elasticsearch with status 200: each document has its own status. One that may
 * succeed later comes first, so that nothing is given up while the rest can be sent again. That is safe: documents have ids.
 */
export const refusalInBulk =
  (isFinal: (status: number) => boolean) =>
  (body: string): Refusal | null => {
    if (body.trim() === '') return null
    const items = itemsOf(body)
    if (items === null) {
      return {
        status: 200,
        response: `This is not a response of Elasticsearch's bulk API. Check the endpoint; it returned: ${body}`,
      }
    }
    const rejected = items.filter(({ status }) => status >= 300 && status !== ALREADY_STORED)
    const first = rejected.find(({ status }) => !isFinal(status)) ?? rejected[0]
    return first === undefined ? null : { status: first.status, response: textOf(first.error) }
  }
