import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Engine } from '../engines/engine.ts'
import { InferenceError } from '../errors.ts'
import type { Admissions } from '../runtime/queue/admission.ts'
import type { SchemaCompiler } from '../structured-output/schema-compiler.ts'
import type { AvailableModels } from './available-models.ts'
import type { ChoiceEvent } from './choices.ts'
import type { Tally } from './replies.ts'

const FIRST_TOKEN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const TOTAL_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** Records the metrics of one chat. */
export interface ChatMeter {
  saw(choice: ChoiceEvent): void
  finished(tally: Tally): void
  failed(error: unknown): void
}

export interface ChatMetrics {
  /** `requested`: when the request arrived, by `performance.now()`. */
  start(model: string, requested: number): ChatMeter
  /** Counts a chat that ended before a model started on it, with an empty model label, because clients can send any name. */
  refused(error: unknown): void
}

const outcomeOf = (error: unknown): string => (error instanceof InferenceError ? error.code : 'cancelled')

export const createChatMetrics = (registry: Registry): ChatMetrics => {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> =>
    new Counter({ name: `inference_${name}`, help, labelNames: [...labelNames], registers })
  const seconds = (name: string, help: string, buckets: readonly number[]): Histogram<'model'> =>
    new Histogram({ name: `inference_${name}_seconds`, help, labelNames: ['model'], buckets: [...buckets], registers })

  const chats = counter('chats_total', 'Chats and completions by model and outcome', ['model', 'outcome'])
  const promptTokens = counter('prompt_tokens_total', 'Prompt tokens', ['model'])
  const cachedTokens = counter('cached_prompt_tokens_total', 'Prompt tokens found in the cache', ['model'])
  const completionTokens = counter('completion_tokens_total', 'Generated tokens', ['model'])
  const drafted = counter('drafted_tokens_total', 'Tokens proposed by speculative decoding', ['model'])
  const confirmed = counter('confirmed_tokens_total', 'Proposed tokens that the model accepted', ['model'])
  const firstToken = seconds('first_token', 'Time from the request to the first text or reasoning', FIRST_TOKEN_SECONDS)
  const total = seconds('chat', 'Time from the request to the end of the reply', TOTAL_SECONDS)

  return {
    refused: (error) => chats.inc({ model: '', outcome: outcomeOf(error) }),
    start(model, requested) {
      const elapsed = (): number => (performance.now() - requested) / 1000
      let begun = false
      let ended = false
      const end = (outcome: string): void => {
        if (ended) return
        ended = true
        chats.inc({ model, outcome })
        total.observe({ model }, elapsed())
      }
      return {
        saw({ event }) {
          if (begun || (event.type !== 'text' && event.type !== 'reasoning')) return
          begun = true
          firstToken.observe({ model }, elapsed())
        },
        finished(tally) {
          promptTokens.inc({ model }, tally.promptTokens)
          cachedTokens.inc({ model }, tally.cachedTokens)
          completionTokens.inc({ model }, tally.completionTokens)
          drafted.inc({ model }, tally.speculation?.drafted ?? 0)
          confirmed.inc({ model }, tally.speculation?.confirmed ?? 0)
          end('completed')
        },
        failed: (error) => end(outcomeOf(error)),
      }
    },
  }
}

/** Reports queues and slots of the loaded models, read at each scrape. */
export const measureQueues = (registry: Registry, models: AvailableModels, admissions: Admissions): void => {
  const gauge = (name: string, help: string, read: (engine: Engine) => number): void => {
    new Gauge({
      name: `inference_${name}`,
      help,
      labelNames: ['model'],
      registers: [registry],
      collect() {
        this.reset()
        for (const engine of models.loaded()) this.set({ model: engine.model.name }, read(engine))
      },
    })
  }
  gauge('queue_length', 'Requests waiting in the queue', (engine) => admissions.of(engine).waiting())
  gauge('places_busy', 'Choices being generated', (engine) => admissions.of(engine).busy())
  gauge('places', 'Choices that can be generated at the same time', ({ slots }) => slots)
  gauge('model_memory_bytes', 'Memory used by the weights and the context', ({ model }) => model.memoryBytes)
}

const label = (text: string): string => text.replace(/[\\"\n]/g, (mark) => (mark === '\n' ? '\\n' : `\\${mark}`))

/** Formats the engines' own figures as Prometheus text. */
export const engineFigures = (engines: readonly Engine[]): string => {
  const lines = new Map<string, string[]>()
  for (const engine of engines) {
    for (const [name, value] of Object.entries(engine.figures())) {
      const known = lines.get(name) ?? []
      known.push(`inference_engine_${name}{engine="${engine.name}",model="${label(engine.model.name)}"} ${value}`)
      lines.set(name, known)
    }
  }
  return [...lines]
    .map(([name, values]) => {
      const type = name.endsWith('_total') ? 'counter' : 'gauge'
      return `# HELP inference_engine_${name} As reported by the engine\n# TYPE inference_engine_${name} ${type}\n${values.join('\n')}\n`
    })
    .join('\n')
}

/** Counts the schemas compiled and those found in the cache. */
export const measureSchemas = (registry: Registry, { counts }: SchemaCompiler): void => {
  for (const outcome of ['compiled', 'cached'] as const) {
    new Counter({
      name: `inference_schemas_${outcome}_total`,
      help: `JSON schemas that were ${outcome === 'compiled' ? 'compiled' : 'found in the cache'}`,
      registers: [registry],
      collect() {
        this.reset()
        this.inc(counts[outcome])
      },
    })
  }
}
