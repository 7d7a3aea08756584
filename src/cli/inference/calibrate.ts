import { percent } from '../../domain/percent.ts'
import { plural } from '../../domain/plural.ts'
import { type Generated, generate } from '../../inference/benchmark/generate.ts'
import { InferenceError } from '../../inference/errors.ts'
import { readGgufHeader } from '../../inference/models/gguf/header.ts'
import { agreement } from '../../inference/runtime/routing/agreement.ts'
import {
  choose,
  crossValidated,
  type Policy,
  policies,
  type Trial,
  worthwhile,
} from '../../inference/runtime/routing/calibrate.ts'
import { bySize } from '../../inference/runtime/routing/choose-model.ts'
import { complexity } from '../../inference/runtime/routing/complexity.ts'
import { writeCalibration } from '../../inference/runtime/routing/routing-file.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { Session } from '../session.ts'
import { type ChosenModel, chooseModelAndEngine, openChosen } from './open-model.ts'
import { type PromptLine, readPrompts } from './prompt-file.ts'

export interface CalibrateOptions {
  readonly models: readonly string[]
  readonly prompts: string
  readonly reference?: string
  readonly keep: number
  readonly maxTokens: number
  readonly engine: string
  readonly threads?: number
  readonly json?: true
}

/** Fewer prompts prove little: with 30 of 30 answers right, the true share may still be below 0.89. */
const FEW_PROMPTS = 30

const SHOWN_POLICIES = 8

/** Sorts by size, smallest first; the reference, if given, is last. The last model's answers count as right. */
const inOrder = async (session: Session, { models, reference, engine }: CalibrateOptions): Promise<ChosenModel[]> => {
  const names = [...new Set(models)]
  if (names.length < 2) throw wrongUsage('--models needs at least two models.', 'For example: --models small,big')
  if (reference !== undefined && !names.includes(reference)) {
    throw wrongUsage(`--reference ${reference} is not one of --models.`, `They are: ${names.join(', ')}`)
  }
  const sized = await Promise.all(
    names.map(async (name) => {
      const chosen = await chooseModelAndEngine(session, name, engine)
      const { format, path, bytes } = chosen.file
      const parameters = format === 'gguf' ? (await readGgufHeader(path)).parameters : null
      return { name, chosen, bytes, parameters }
    }),
  )
  const sorted = bySize(sized)
  const last = sorted.find(({ name }) => name === reference)
  return (last === undefined ? sorted : [...sorted.filter((one) => one !== last), last]).map(({ chosen }) => chosen)
}

/** One reply per prompt; null if the prompt is too long for the model. */
type Replies = readonly (Generated | null)[]

const answersOf = async (
  session: Session,
  chosen: ChosenModel,
  prompts: readonly PromptLine[],
  { maxTokens, threads }: CalibrateOptions,
): Promise<Replies> => {
  const settings = { slots: 1, cacheMegabytes: 0, log: () => undefined, ...(threads !== undefined && { threads }) }
  const engine = await openChosen(session, chosen, settings)
  const reply = ({ messages }: PromptLine, limit: number): Promise<Generated | null> =>
    generate(engine, messages, limit, session.io.signal).catch((error: unknown) => {
      if (error instanceof InferenceError && error.code === 'context_length_exceeded') return null
      throw error
    })
  try {
    // Warm-up, not counted: the first answer waits until the file is read.
    await reply(prompts[0]!, 1)
    const responses: (Generated | null)[] = []
    for (const prompt of prompts) responses.push(await reply(prompt, maxTokens))
    return responses
  } finally {
    await engine.close()
  }
}

/** A prompt that is too long for a model counts with the reply of the next one, to which routing sends it. */
const trialsOf = (prompts: readonly PromptLine[], responses: readonly Replies[]): readonly Trial[] =>
  prompts.flatMap(({ messages, expected }, index) => {
    const reference = responses.at(-1)![index]
    if (!reference) return []
    const right = expected ?? reference.text
    const outcomes = responses.map((_, model) => {
      const { text, totalMs, completionTokens } = responses.slice(model).find((all) => all[index])![index]!
      return { quality: agreement(text, right), milliseconds: totalMs, tokens: completionTokens }
    })
    return [{ score: complexity({ messages, responseFormat: { type: 'text' } }).score, outcomes }]
  })

const tooLongCaveats = (names: readonly string[], responses: readonly Replies[]): string[] =>
  responses.flatMap((all, index) => {
    const count = all.filter((reply) => reply === null).length
    if (count === 0) return []
    const rest = index === names.length - 1 ? 'are left out' : 'count with the replies of the next model'
    return [`Prompts that are too long for ${names[index]} ${rest}: ${count} of ${all.length}.`]
  })

const wholePercent = (share: number): string => percent(share, 0)

const rowOf =
  (names: readonly string[], alone: Policy, chosen: Policy) =>
  (policy: Policy): string[] => [
    policy === chosen ? '*' : '',
    policy.limits.map((limit, index) => `${names[index]} ${limit < 0 ? 'none' : `<= ${limit.toFixed(2)}`}`).join(', '),
    policy.shares.map(wholePercent).join(' / '),
    policy.quality.toFixed(3),
    policy.interval.map((end) => end.toFixed(2)).join(' to '),
    wholePercent(policy.kept),
    policy.milliseconds.toFixed(0),
    wholePercent(policy.milliseconds / alone.milliseconds),
    policy.tokens.toFixed(0),
  ]

/** Returns at most SHOWN_POLICIES evenly spaced policies, plus the chosen one. */
const policiesToPrint = (all: readonly Policy[], chosen: Policy): readonly Policy[] => {
  const step = Math.max(1, (all.length - 1) / (SHOWN_POLICIES - 1))
  const places = new Set(
    Array.from({ length: Math.min(all.length, SHOWN_POLICIES) }, (_, one) => Math.round(one * step)),
  )
  return all.filter((policy, index) => places.has(index) || policy === chosen)
}

const caveatsOf = (count: number, graded: number, reference: string): string[] => [
  ...(graded < count
    ? [
        `For ${count - graded} of ${count} prompts, quality is the agreement with the replies of ${reference}, so it cannot show where ${reference} is wrong.`,
      ]
    : []),
  ...(count < FEW_PROMPTS
    ? [`${count} prompts are too few: the intervals are wide and the limits uncertain. Use at least ${FEW_PROMPTS}.`]
    : []),
]

/** Tries the prompts on every model, reports quality and cost, and writes the limits for `serve --auto-route`. */
export const calibrate = async (session: Session, options: CalibrateOptions): Promise<void> => {
  const { out, home, io } = session
  const prompts = await readPrompts(options.prompts, io.cwd)
  const models = await inOrder(session, options)
  // Before the work, which may take hours.
  await home.requireWritable()
  const names = models.map(({ file }) => file.name)
  const responses: Replies[] = []
  for (const chosen of models) {
    out.note(`${chosen.file.name}: ${plural(prompts.length, 'prompt')}.`)
    responses.push(await answersOf(session, chosen, prompts, options))
  }
  const trials = trialsOf(prompts, responses)
  if (trials.length === 0)
    throw new Failure(`Every prompt is too long for ${names.at(-1)}.`, {
      advice: 'Shorten the prompts, or name another model with --reference.',
    })
  const all = policies(trials)
  const alone = all[0]!
  const chosen = choose(all, options.keep)
  const unseen = crossValidated(trials, options.keep)
  const tiers = models.map(({ file }, index) => ({
    model: file.name,
    path: file.path,
    upToScore: chosen.limits[index] ?? 1,
  }))
  const path = await writeCalibration(home.folder, { prompts: trials.length, tiers }, session.now())
  const graded = prompts.filter(({ expected }, index) => expected !== null && responses.at(-1)![index]).length
  const caveats = [...tooLongCaveats(names, responses), ...caveatsOf(trials.length, graded, names.at(-1)!)]
  if (options.json) {
    out.json({
      models: names,
      prompts: trials.length,
      keep: options.keep,
      chosen,
      policies: worthwhile(all),
      unseen,
      caveats,
      path,
    })
    return
  }
  const header = [
    '',
    'LIMITS',
    names.join(' / ').toUpperCase(),
    'QUALITY',
    '95%',
    'KEPT',
    'MS',
    'TIME VS ALONE',
    'TOKENS',
  ]
  out.table(header, policiesToPrint(worthwhile([chosen, ...all]), chosen).map(rowOf(names, alone, chosen)))
  out.note(
    `* the fastest that keeps ${wholePercent(options.keep)} of the quality of ${names.at(-1)} alone (${alone.quality.toFixed(3)}).`,
  )
  if (unseen !== null) out.note(`On held-out prompts it kept ${wholePercent(unseen.kept)}.`)
  for (const caveat of caveats) out.note(caveat)
  out.note(`Written to ${path}, which svc serve --auto-route reads.`)
}
