import { setImmediate } from 'node:timers/promises'

/** The number of devices that report to exactly these groups, by their number, in ascending order. */
export interface Cell {
  readonly groups: Uint16Array
  readonly devices: number
}

const DEVICES_BETWEEN_PAUSES = 5_000

/** Which devices report to which of `count` groups: one bit for each, since 200 groups of 50,000 devices are 10 million pairs. */
export const createMemberships = (count: number) => {
  const width = Math.ceil(count / 8)
  const rowOf = new Map<number, number>()
  let bits: Buffer = Buffer.alloc(width * 1024)

  const add = (device: number, group: number): void => {
    let row = rowOf.get(device)
    if (row === undefined) {
      row = rowOf.size
      rowOf.set(device, row)
      if (rowOf.size * width > bits.length) bits = Buffer.concat([bits], bits.length * 2)
    }
    const at = row * width + (group >> 3)
    bits[at] = bits[at]! | (1 << (group & 7))
  }

  const cells = async (): Promise<Cell[]> => {
    const devicesOf = new Map<string, number>()
    for (let row = 0; row < rowOf.size; row++) {
      const name = bits.toString('latin1', row * width, (row + 1) * width)
      devicesOf.set(name, (devicesOf.get(name) ?? 0) + 1)
      if (row % DEVICES_BETWEEN_PAUSES === 0) await setImmediate()
    }
    const found: Cell[] = []
    for (const [name, devices] of devicesOf) {
      found.push({ groups: groupsIn(name), devices })
      if (found.length % DEVICES_BETWEEN_PAUSES === 0) await setImmediate()
    }
    return found
  }

  return { add, cells }
}

const groupsIn = (name: string): Uint16Array => {
  const groups: number[] = []
  for (let at = 0; at < name.length; at++) {
    for (let byte = name.charCodeAt(at), bit = 0; byte > 0; byte >>= 1, bit++) if (byte & 1) groups.push(at * 8 + bit)
  }
  return Uint16Array.from(groups)
}
