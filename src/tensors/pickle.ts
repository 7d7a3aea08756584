import { badRequest } from '../domain/errors.ts'
import type { ByteCursor } from './byte-cursor.ts'
import { MAX_PICKLE_BYTES, MAX_PICKLE_OPCODES } from './limits.ts'
import { PickleMachine } from './pickle-machine.ts'
import type { PickleHost, PickleValue } from './pickle-value.ts'
import { viewOf } from './sources.ts'

const STOP = 0x2e
const NEWOBJ = 0x81

/** The opcodes that build data, by code. All others are refused. Meanings: CPython, Lib/pickletools.py. */
const OPCODES: Readonly<Record<number, (m: PickleMachine) => void>> = {
  128: (m) => requireProtocol(m), // PROTO
  149: (m) => void m.cursor.take(8), // FRAME
  40: (m) => m.mark(), // MARK
  48: (m) => void m.pop(), // POP
  49: (m) => void m.popToMark(), // POP_MARK
  50: (m) => m.push(m.top()), // DUP
  78: (m) => m.push(null), // NONE
  136: (m) => m.push(true), // NEWTRUE
  137: (m) => m.push(false), // NEWFALSE
  75: (m) => m.push(m.cursor.byte()), // BININT1
  77: (m) => m.push(m.cursor.u16()), // BININT2
  74: (m) => m.push(m.cursor.u32() | 0), // BININT
  138: (m) => m.push(m.long(m.cursor.byte())), // LONG1
  139: (m) => m.push(m.long(m.cursor.u32())), // LONG4
  71: (m) => m.push(viewOf(m.cursor.take(8)).getFloat64(0, false)), // BINFLOAT
  88: (m) => m.push(m.text(m.cursor.u32())), // BINUNICODE
  140: (m) => m.push(m.text(m.cursor.byte())), // SHORT_BINUNICODE
  141: (m) => m.push(m.text(m.cursor.u64())), // BINUNICODE8
  84: (m) => m.push(m.oldText(m.cursor.u32())), // BINSTRING
  85: (m) => m.push(m.oldText(m.cursor.byte())), // SHORT_BINSTRING
  66: (m) => m.pushBytes(m.cursor.u32()), // BINBYTES
  67: (m) => m.pushBytes(m.cursor.byte()), // SHORT_BINBYTES
  142: (m) => m.pushBytes(m.cursor.u64()), // BINBYTES8
  150: (m) => m.pushBytes(m.cursor.u64()), // BYTEARRAY8
  41: (m) => m.push([]), // EMPTY_TUPLE
  133: (m) => m.push(m.popMany(1)), // TUPLE1
  134: (m) => m.push(m.popMany(2)), // TUPLE2
  135: (m) => m.push(m.popMany(3)), // TUPLE3
  116: (m) => m.push(m.popToMark()), // TUPLE
  93: (m) => m.push([]), // EMPTY_LIST
  108: (m) => m.push(m.popToMark()), // LIST
  97: (m) => m.append([m.pop()]), // APPEND
  101: (m) => m.append(m.popToMark()), // APPENDS
  125: (m) => m.pushDict(), // EMPTY_DICT
  115: (m) => m.setItems(m.popMany(2)), // SETITEM
  117: (m) => m.setItems(m.popToMark()), // SETITEMS
  143: (m) => m.pushSet([]), // EMPTY_SET
  144: (m) => m.addItems(m.popToMark()), // ADDITEMS
  145: (m) => m.pushSet(m.popToMark()), // FROZENSET
  99: (m) => m.push(m.global(m.cursor.line(), m.cursor.line())), // GLOBAL
  147: (m) => pushNamedGlobal(m), // STACK_GLOBAL
  82: (m) => m.reduce(), // REDUCE
  98: (m) => m.build(), // BUILD
  81: (m) => m.push(m.host.persistent(m.pop())), // BINPERSID
  113: (m) => m.remember(m.cursor.byte()), // BINPUT
  114: (m) => m.remember(m.cursor.u32()), // LONG_BINPUT
  148: (m) => m.rememberNext(), // MEMOIZE
  104: (m) => m.recall(m.cursor.byte()), // BINGET
  106: (m) => m.recall(m.cursor.u32()), // LONG_BINGET
}

const requireProtocol = (m: PickleMachine): void => {
  const protocol = m.cursor.byte()
  if (protocol > 5) throw m.broken(`it uses the unknown protocol ${protocol}`)
}

const pushNamedGlobal = (m: PickleMachine): void => {
  const name = m.pop()
  m.push(m.global(m.pop(), name))
}

/**
 * Runs one pickle (protocols 2 to 5) on a stack machine that can only build data, and returns its value. Leaves the cursor
 * after STOP. Refuses unknown opcodes and globals that the host does not support. The limits bound time and memory. Throws
 * bad_request.
 */
export const unpickle = (cursor: ByteCursor, host: PickleHost, maxBytes = MAX_PICKLE_BYTES): PickleValue => {
  const machine = new PickleMachine(cursor, host)
  const start = cursor.position
  for (let step = 0; step < MAX_PICKLE_OPCODES && cursor.position - start <= maxBytes; step++) {
    const opcode = cursor.byte()
    if (opcode === STOP) return machine.pop()
    const run = OPCODES[opcode]
    if (opcode === NEWOBJ && machine.newObject()) continue
    if (run === undefined)
      throw badRequest(
        `The pickle uses opcode 0x${opcode.toString(16)} at byte ${cursor.position - 1}, which weight files do not ` +
          'need; it was not run. Save the weights alone: torch.save(model.state_dict(), path).',
      )
    run(machine)
  }
  throw badRequest(
    `The pickle is too long to read (over ${MAX_PICKLE_OPCODES} steps or ${maxBytes} bytes). ` +
      'Save the weights alone: torch.save(model.state_dict(), path).',
  )
}
