import { useState } from 'react'
import { type components, unwrap } from '../../../client/client.ts'
import { api } from '../../api/client.ts'
import { SelectField } from '../../parts/form.tsx'
import { Button, PageHeader, Panel, Problem, Quiet } from '../../parts/layout.tsx'
import { onSubmit, useAbortableAction } from '../../parts/use-action.ts'
import { count, duration, NONE, plural } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import styles from './playground.module.css'
import { cosine } from './similarity.ts'

const DEFAULTS = { model: '' }
const EXAMPLES = ['A cat sleeps on the sofa.', 'A kitten naps on the couch.', 'The train leaves at noon.']
const MAX_TEXTS = 12

type Embedded = components['schemas']['EmbeddingList']

interface Compared {
  readonly texts: readonly string[]
  readonly list: Embedded
  readonly ms: number
}

const letter = (index: number): string => String.fromCharCode(65 + index)

const Cell = ({ value }: { readonly value: number | null }) => (
  <td
    className={styles.cell}
    style={{ background: `color-mix(in srgb, var(--busy-soft) ${Math.max(0, value ?? 0) * 100}%, var(--surface))` }}
  >
    {value === null ? NONE : value.toFixed(3)}
  </td>
)

/** The similarity of each pair of texts. */
const Similarity = ({ texts, list, ms }: Compared) => {
  const vectors = texts.map((_, index) => list.data.find((one) => one.index === index)?.embedding ?? [])
  return (
    <Panel
      title="Cosine similarity"
      aside={[
        `${count(vectors[0]?.length)} dimensions`,
        ...(list.usage?.prompt_tokens == null ? [] : [plural(list.usage.prompt_tokens, 'token')]),
        duration(ms),
      ].join(', ')}
    >
      <section
        className={styles.matrix}
        aria-label="Similarity of the texts"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: makes it scrollable by keyboard
        tabIndex={0}
      >
        <table>
          <thead>
            <tr>
              <td />
              {texts.map((text, index) => (
                <th key={letter(index)} scope="col" title={text}>
                  {letter(index)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {texts.map((text, row) => (
              <tr key={letter(row)}>
                <th scope="row">
                  {letter(row)} <Quiet>{text.length > 40 ? `${text.slice(0, 40)}…` : text}</Quiet>
                </th>
                {vectors.map((vector, column) => (
                  <Cell key={letter(column)} value={cosine(vectors[row]!, vector)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Panel>
  )
}

/** Shows how similar texts are to a model. */
export const EmbeddingsPage = ({ models }: { readonly models: readonly string[] }) => {
  const [state, change] = usePageState(DEFAULTS)
  const [compared, setCompared] = useState<Compared | null>(null)
  const { error, busy, run } = useAbortableAction()
  const model = models.includes(state.model) ? state.model : models[0]!
  const [texts, setTexts] = useState<readonly string[]>(EXAMPLES)
  const filled = texts.map((text) => text.trim()).filter(Boolean)
  const compare = async (signal: AbortSignal): Promise<void> => {
    const started = performance.now()
    const body = { model, input: filled }
    try {
      const list = await unwrap(await api.POST('/api/v1/inference/embeddings', { body, signal }))
      setCompared({ texts: filled, list, ms: performance.now() - started })
    } catch (error) {
      setCompared(null)
      throw error
    }
  }
  return (
    <>
      <PageHeader title="Embeddings" />
      <form className={styles.texts} onSubmit={onSubmit(() => run(compare))}>
        <SelectField
          label="Model"
          value={model}
          options={models.map((name) => [name, name] as const)}
          onChange={(name) => change({ model: name })}
        />
        {texts.map((text, index) => (
          <div key={letter(index)} className={styles.textRow}>
            <input
              aria-label={`Text ${letter(index)}`}
              value={text}
              maxLength={2000}
              onChange={(event) => setTexts(texts.map((one, at) => (at === index ? event.target.value : one)))}
            />
            <Button
              aria-label={`Remove text ${letter(index)}`}
              disabled={texts.length <= 2}
              onClick={() => setTexts(texts.filter((_, at) => at !== index))}
            >
              Remove
            </Button>
          </div>
        ))}
        <div className={styles.actions}>
          <Button disabled={texts.length >= MAX_TEXTS} onClick={() => setTexts([...texts, ''])}>
            Add a text
          </Button>
          <Button type="submit" tone="primary" disabled={busy || filled.length < 2}>
            Compare
          </Button>
        </div>
      </form>
      {error && <Problem error={error} />}
      {compared && <Similarity {...compared} />}
    </>
  )
}
