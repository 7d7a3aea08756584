import { useEffect, useRef } from 'react'
import { Quiet } from '../../parts/layout.tsx'
import { count, duration, plural } from '../../text/format.ts'
import { nameIn } from '../../url/raw-address.ts'
import { type Reply, speedOf } from './chat-reply.ts'
import styles from './playground.module.css'
import type { Turn } from './use-chat.ts'

const NOTES: Readonly<Record<string, (value: string) => string>> = {
  'x-service-routed-model': (value) => `routed to ${nameIn(value)}`,
  'x-service-speculative': () => 'speculative decoding',
  'x-service-early-exit-tokens': (value) => `${plural(Number(value), 'token')} exited early`,
  'x-service-compression': () => 'prompt compressed',
}

const figuresOf = (reply: Reply): readonly string[] => {
  const speed = speedOf(reply)
  const { firstMs, completionTokens, promptTokens, cachedTokens, notes } = reply
  return [
    ...(firstMs === null ? [] : [`first token after ${duration(firstMs)}`]),
    ...(speed === null ? [] : [`${speed.toFixed(1)} tokens/s`]),
    ...(completionTokens === null ? [] : [plural(completionTokens, 'token')]),
    ...(promptTokens === null
      ? []
      : [`prompt ${count(promptTokens)}${cachedTokens ? `, ${count(cachedTokens)} cached` : ''}`]),
    ...Object.entries(notes).map(([name, value]) => NOTES[name]?.(value) ?? `${name}: ${value}`),
  ]
}

const ENDS: Readonly<Record<Reply['state'], string>> = {
  running: 'Answering…',
  finished: '',
  stopped: 'Stopped.',
  failed: '',
}

const AssistantReply = ({ model, reply }: { readonly model: string; readonly reply: Reply }) => (
  <div className={styles.reply}>
    <strong>{model}</strong>
    {reply.reasoning !== '' && (
      <details open={reply.text === ''} className={styles.figures}>
        <summary>Reasoning</summary>
        <p className={styles.text}>{reply.reasoning}</p>
      </details>
    )}
    {reply.text !== '' && <p className={styles.text}>{reply.text}</p>}
    {reply.error !== null && <p className={styles.error}>{reply.error}</p>}
    <p className={styles.figures}>
      {ENDS[reply.state] && <span>{ENDS[reply.state]}</span>}
      {reply.finish === 'length' && <span>Cut off at the token limit or the end of the context.</span>}
      {figuresOf(reply).map((figure) => (
        <span key={figure}>{figure}</span>
      ))}
    </p>
  </div>
)

/** Questions and replies; scrolls to the latest as it grows. */
export const Transcript = ({ label, turns }: { readonly label: string; readonly turns: readonly Turn[] }) => {
  const place = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls whenever there is more text
  useEffect(() => {
    if (follows.current && place.current) place.current.scrollTop = place.current.scrollHeight
  }, [turns])
  const busy = turns.at(-1)?.reply.state === 'running'
  return (
    <div
      ref={place}
      role="log"
      aria-label={label}
      aria-busy={busy}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: makes it scrollable by keyboard
      tabIndex={0}
      className={styles.log}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        follows.current = scrollHeight - scrollTop - clientHeight < 40
      }}
    >
      {turns.length === 0 && (
        <Quiet>No messages yet. The chat exists only in this page and is lost when you leave it.</Quiet>
      )}
      {turns.map(({ key, question, model, reply }) => (
        <div key={key} className={styles.turn}>
          <p className={styles.question}>{question}</p>
          <AssistantReply model={model} reply={reply} />
        </div>
      ))}
    </div>
  )
}
