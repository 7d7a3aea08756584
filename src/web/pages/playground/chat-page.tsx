import { type FormEvent, type KeyboardEvent, useState } from 'react'
import { FieldRow, NumberField, SelectField } from '../../parts/form.tsx'
import { Aside, Button, Columns, PageHeader, Panel } from '../../parts/layout.tsx'
import { usePageState } from '../../url/use-page-state.ts'
import styles from './playground.module.css'
import { Transcript } from './transcript.tsx'
import { type ChatSettings, useChat } from './use-chat.ts'

const DEFAULTS = { model: '', beside: '', temperature: 0.7, tokens: 256 }
const MAX_TOKENS = 131_072
const MAX_CHARACTERS = 500_000

/** A question for all models in view; Enter sends it. */
const Composer = ({
  busy,
  onSend,
  onStop,
}: {
  readonly busy: boolean
  readonly onSend: (text: string) => boolean
  readonly onStop: () => void
}) => {
  const [text, setText] = useState('')
  const send = (): void => {
    if (busy || text.trim() === '') return
    if (onSend(text.trim())) setText('')
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    send()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    send()
  }
  return (
    <form className={styles.composer} onSubmit={submit}>
      <textarea
        aria-label="Message"
        placeholder="Message (Enter sends, Shift+Enter starts a new line)"
        rows={3}
        maxLength={MAX_CHARACTERS}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {busy ? (
        <Button key="stop" tone="danger" onClick={onStop}>
          Stop
        </Button>
      ) : (
        <Button key="send" type="submit" tone="primary" disabled={text.trim() === ''}>
          Send
        </Button>
      )}
    </form>
  )
}

const inRange = (value: number, min: number, max: number): boolean => value >= min && value <= max

/** Chat with a model, or with two side by side. */
export const ChatPage = ({ models }: { readonly models: readonly string[] }) => {
  const [state, change] = usePageState(DEFAULTS)
  const [left, right] = [useChat(), useChat()]
  const model = models.includes(state.model) ? state.model : models[0]!
  const beside = models.includes(state.beside) ? state.beside : null
  const settings = (name: string): ChatSettings => ({
    model: name,
    temperature: state.temperature,
    maxTokens: state.tokens,
  })
  const valid = inRange(state.temperature, 0, 2) && inRange(state.tokens, 1, MAX_TOKENS)
  const send = (text: string): boolean => {
    if (!valid) return false
    left.ask(text, settings(model))
    if (beside !== null) right.ask(text, settings(beside))
    return true
  }
  const chats = [left, right]
  const named = models.map((name) => [name, name] as const)
  return (
    <>
      <PageHeader title="Playground">
        <Aside>
          <Button
            disabled={left.turns.length + right.turns.length === 0}
            onClick={() => {
              for (const chat of chats) chat.clear()
            }}
          >
            Clear
          </Button>
        </Aside>
      </PageHeader>
      <div className={styles.settings}>
        <FieldRow>
          <SelectField label="Model" value={model} options={named} onChange={(name) => change({ model: name })} />
          <SelectField
            label="Compare with"
            value={beside ?? ''}
            options={[['', 'No other model'], ...named]}
            onChange={(name) => change({ beside: name })}
          />
          <NumberField
            label="Temperature"
            min={0}
            max={2}
            step="any"
            value={state.temperature}
            onChange={(temperature) => change({ temperature })}
          />
          <NumberField
            label="Max tokens"
            min={1}
            max={MAX_TOKENS}
            step={1}
            value={state.tokens}
            onChange={(tokens) => change({ tokens })}
          />
        </FieldRow>
      </div>
      <Columns>
        <Panel title={model}>
          <Transcript label={`Chat with ${model}`} turns={left.turns} />
        </Panel>
        {beside !== null && (
          <Panel title={beside === model ? `${beside} again` : beside}>
            <Transcript label={`Second chat with ${beside}`} turns={right.turns} />
          </Panel>
        )}
      </Columns>
      <Composer
        busy={chats.some(({ busy }) => busy)}
        onSend={send}
        onStop={() => {
          for (const chat of chats) chat.stop()
        }}
      />
    </>
  )
}
