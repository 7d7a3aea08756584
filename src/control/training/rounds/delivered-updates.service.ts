import { conflict } from '../../../domain/errors.ts'
import type { DeliveredUpdate } from './updates.report.ts'

export const fileOf = (update: DeliveredUpdate['update']): string => {
  if (update.sha256 === null) throw conflict(`The file of update ${update.id} was deleted after its retention period.`)
  return update.sha256
}

/** How keys of namesakes end, and those of devices whose names end so: no two keys of a round are the same. */
const KEY_SUFFIX = /\([0-9a-f-]{36}\)$/

/**
 * What tells a round's devices apart, and orders them: the user-chosen id, which in nearly all rounds is unique, so that their
 * bytes are what they always were. Devices of several organizations with one id in a federation's round have their internal id behind it.
 */
export const withKeys = (delivered: readonly DeliveredUpdate[]): (DeliveredUpdate & { readonly key: string })[] => {
  const named = new Map<string, number>()
  for (const { deviceName } of delivered) named.set(deviceName, (named.get(deviceName) ?? 0) + 1)
  return delivered.map((one) => {
    const { deviceName, update } = one
    const isClear = named.get(deviceName) === 1 && !KEY_SUFFIX.test(deviceName)
    return { ...one, key: isClear ? deviceName : `${deviceName} (${update.deviceId})` }
  })
}
