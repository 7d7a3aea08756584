import { useEffect, useState } from 'react'
import { shortId } from '../text/format.ts'
import styles from './copy.module.css'

/** `navigator.clipboard` is only there where the browser trusts the connection. */
const copyText = async (text: string): Promise<void> => {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}

export const CopyButton = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [copied])
  const label = copied ? `Copied ${what}` : `Copy ${what}`
  return (
    <button
      type="button"
      className={styles.copy}
      title={label}
      aria-label={label}
      onClick={() => void copyText(text).then(() => setCopied(true))}
    >
      <svg
        width="14"
        height="14"
        viewBox="0 0 14 14"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        aria-hidden="true"
      >
        {copied ? <path d="M2.5 7.5 5.5 10.5 11.5 3.5" /> : <path d="M4.5 4.5v-2h7v7h-2M2.5 4.5h7v7h-7z" />}
      </svg>
    </button>
  )
}

/** An id, shortened, with the whole one on hover and to copy. */
export const Id = ({ id }: { readonly id: string }) => (
  <span className={styles.id}>
    <span title={id}>{shortId(id)}</span>
    <CopyButton text={id} what={`id ${shortId(id)}`} />
  </span>
)

export const Command = ({ children }: { readonly children: string }) => (
  <div className={styles.command}>
    <code>{children}</code>
    <CopyButton text={children} what="command" />
  </div>
)
