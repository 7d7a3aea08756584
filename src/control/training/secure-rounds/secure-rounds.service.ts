import type { Caller } from '../../../domain/access.ts'
import { conflict, notFound } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { KeysMessage, Roster, SharesMessage, UnmaskMessage } from '../../../secure-aggregation/messages.ts'
import {
  checkKeys,
  checkShares,
  checkUnmask,
  isOpen,
  type OpenStatus,
  requireTurn,
} from '../../../secure-aggregation/server-round.ts'
import type { Context } from '../../context.ts'
import { forEach } from '../../periodic-tasks.ts'
import { singleFlight } from '../../single-flight.ts'
import { createSecureProgress, type Round, type RoundControl, STEP_OF } from './secure-progress.service.ts'
import { type Messages, type Step, type StoredSecureRound, secureRoundsStore } from './secure-rounds.store.ts'

/** The state of a secure round, as one device needs to see it. */
export interface SecureView {
  readonly round: StoredSecureRound
  /** The caller's id in the protocol; null if its key belongs to no device. */
  readonly deviceId: string | null
  /** Whether the caller's device is part of the current step; `answered` is whether it has sent its message. */
  readonly counted: boolean
  readonly answered: boolean
  /** Only in the step that needs it. */
  readonly roster: Roster | null
  readonly shares: Readonly<Record<string, string>> | null
}

const LOOK_AGAIN_MS = 1000

/** The shares that each device receives from the others. */
type SharesByReceiver = ReadonlyMap<string, Readonly<Record<string, string>>>
/** All devices of a round ask for their shares at about the same time; together, the shares of 255 take 16 MB. */
const SHARES_KEPT_MS = 60_000

/** Receives devices' messages for a secure round, passes on those for other devices, and starts the steps that follow. */
export const createSecureRoundsService = <R extends Round>(
  context: Context,
  parts: {
    readonly roundControl: RoundControl<R>
  },
) => {
  const { database, changes, now } = context
  const { roundControl } = parts
  const { settle } = createSecureProgress(context, parts)
  const sharesByReceiver = singleFlight<SharesByReceiver>(2, SHARES_KEPT_MS)

  const find = async (caller: Caller, roundId: string): Promise<StoredSecureRound> => {
    await roundControl.get(caller, roundId)
    const round = await secureRoundsStore.find(database.sql, roundId)
    if (round === null) throw notFound('Secure round', roundId)
    return round
  }

  const view = async (caller: Caller, roundId: string): Promise<SecureView> => {
    const round = await find(caller, roundId)
    const deviceId = caller.deviceId
    const { status, cohort } = round
    const answered = isOpen(status)
      ? await secureRoundsStore.answered(database.sql, roundId, STEP_OF[status])
      : new Set<string>()
    const counted = deviceId !== null && (cohort === null || cohort.includes(deviceId))
    return {
      round,
      deviceId,
      counted,
      answered: deviceId !== null && answered.has(deviceId),
      roster: status === 'sharing' && counted ? await rosterOf(round) : null,
      shares: status === 'masking' && counted ? await sharesFor(round, deviceId) : null,
    }
  }

  const rosterOf = async (round: StoredSecureRound): Promise<Roster> => {
    const keys = await secureRoundsStore.messages(database.sql, round.roundId, 'keys')
    return Object.fromEntries(round.cohort!.map((device) => [device, keys[device]!]))
  }

  const sharesFor = async (round: StoredSecureRound, deviceId: string): Promise<Readonly<Record<string, string>>> =>
    (await sharesByReceiver(round.roundId, () => receivedShares(round)))!.get(deviceId)!

  const receivedShares = async (round: StoredSecureRound): Promise<SharesByReceiver> => {
    const dealt = await secureRoundsStore.messages(database.sql, round.roundId, 'shares')
    return new Map(
      round.dealt.map((to) => {
        const others = round.dealt.filter((from) => from !== to)
        return [to, Object.fromEntries(others.map((from) => [from, dealt[from]!.sealed[to]!]))]
      }),
    )
  }

  /** Stores a device's message for a step, once, after `check`; the last message starts the next step. */
  const say = async <S extends Step>(
    caller: Caller,
    roundId: string,
    response: { readonly status: OpenStatus; readonly step: S; readonly message: Messages[S] },
    check: (tx: Executor, round: StoredSecureRound, deviceId: string) => Promise<void> | void,
  ): Promise<SecureView> => {
    const round = await roundControl.get(caller, roundId)
    await find(caller, roundId)
    const deviceId = requireDevice(caller)
    await database.transaction(async (tx) => {
      const locked = await roundControl.lock(tx, roundId)
      const secure = await secureRoundsStore.lock(tx, roundId)
      if (locked?.status !== 'active') throw conflict(over(locked ?? round))
      if (!(await secureRoundsStore.takesPart(tx, roundId, deviceId))) {
        throw conflict('This device is not a participant of the round, or has failed in it.')
      }
      const { status, step, message } = response
      const answered = await secureRoundsStore.answered(tx, roundId, step)
      // The places of devices that failed after they had sent their keys are free again.
      if (step === 'keys') for (const failed of await secureRoundsStore.failed(tx, roundId)) answered.delete(failed)
      requireTurn(secure!, status, deviceId, answered)
      if (now().getTime() >= secure!.deadlineAt.getTime()) throw conflict('The time for this step has passed.')
      await check(tx, secure!, deviceId)
      await secureRoundsStore.insertMessage(tx, { roundId, deviceId, step, message }, now())
    })
    await settle(roundId)
    return view(caller, roundId)
  }

  return {
    settle,

    /** Advances all secure rounds that are due. The timer calls it before it lets rounds time out. */
    async tick(): Promise<void> {
      const open = await secureRoundsStore.open(database.sql)
      await forEach(open, settle)
    },

    /** Deletes the messages of rounds whose updates retention has deleted. */
    retire: (): Promise<void> => secureRoundsStore.forgetRetired(database.sql),

    /**
     * The state of the round for the caller. With `wait`, answers once the status differs from the one that the caller knows,
     * or when the time is up.
     */
    async view(
      caller: Caller,
      roundId: string,
      wait: { readonly ms: number; readonly known: string | undefined; readonly gone: AbortSignal },
    ): Promise<SecureView> {
      const until = performance.now() + wait.ms
      for (;;) {
        const seen = changes.version()
        const known = await find(caller, roundId)
        if (isOpen(known.status) && now().getTime() >= known.deadlineAt.getTime()) await settle(roundId)
        const found = await view(caller, roundId)
        const left = until - performance.now()
        if (found.round.status !== wait.known || left <= 0 || wait.gone.aborted || changes.isClosed()) return found
        // Another process may advance the round without signaling this one.
        await changes.changedSince(seen, Math.min(left, LOOK_AGAIN_MS), wait.gone)
      }
    },

    advertise: (caller: Caller, roundId: string, message: KeysMessage): Promise<SecureView> =>
      say(caller, roundId, { status: 'advertising', step: 'keys', message }, async (tx, _round, deviceId) =>
        checkKeys(deviceId, message, await secureRoundsStore.messages(tx, roundId, 'keys')),
      ),

    deal: (caller: Caller, roundId: string, message: SharesMessage): Promise<SecureView> =>
      say(caller, roundId, { status: 'sharing', step: 'shares', message }, (_tx, round, deviceId) =>
        checkShares(round, deviceId, message),
      ),

    unmask: (caller: Caller, roundId: string, message: UnmaskMessage): Promise<SecureView> =>
      say(caller, roundId, { status: 'unmasking', step: 'unmask', message }, (_tx, round) =>
        checkUnmask(round, message),
      ),
  }
}

const requireDevice = ({ deviceId }: Caller): string => {
  if (deviceId === null) throw conflict('This key belongs to no device. Use the key of a participant.')
  return deviceId
}

const over = (round: Round): string =>
  `The round is ${round.status}.${round.failureReason === null ? '' : ` ${round.failureReason}`}`

export type SecureRoundsService = ReturnType<typeof createSecureRoundsService>
