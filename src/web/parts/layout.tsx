import { type ComponentProps, type ReactNode, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import type { Scope } from '../../domain/access.ts'
import { useMay } from '../api/session.ts'
import { Command } from './cells.tsx'
import styles from './layout.module.css'

/** The path that was loaded, until another is gone to: what is loaded is read from its beginning. */
let loadedAt: string | null = window.location.pathname

/** Where the link that was followed is no more, the focus goes on to the heading of what it led to. */
const useArrival = () => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (loadedAt === window.location.pathname) return
    loadedAt = null
    if (document.activeElement === null || document.activeElement === document.body) heading.current?.focus()
  }, [])
  return heading
}

/** The head of a page: its title, also of the window; a way up; state and actions beside it. */
export const PageHeader = ({
  title,
  up,
  children,
}: {
  readonly title: string
  readonly up?: { readonly href: string; readonly label: string }
  readonly children?: ReactNode
}) => {
  const heading = useArrival()
  useEffect(() => {
    document.title = `${title} · Tributary`
  }, [title])
  return (
    <header className={styles.header}>
      {up && (
        <p className={styles.up}>
          <Link href={up.href}>← {up.label}</Link>
        </p>
      )}
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </header>
  )
}

/** At the right end of a header or a panel's head. */
export const Aside = ({ children }: { readonly children: ReactNode }) => <div className={styles.aside}>{children}</div>

/** A section with a heading. `flush`: its content (a table) reaches the edges. */
export const Panel = ({
  title,
  aside,
  flush = false,
  children,
}: {
  readonly title: string
  readonly aside?: ReactNode
  readonly flush?: boolean
  readonly children: ReactNode
}) => (
  <section className={styles.panel} aria-label={title}>
    <div className={styles.panelHead}>
      <h2>{title}</h2>
      {aside && <div className={styles.quiet}>{aside}</div>}
    </div>
    <div className={flush ? styles.flush : styles.panelBody}>{children}</div>
  </section>
)

/** A panel with one sentence, where there is one to say. */
export const Note = ({ title, text }: { readonly title: string; readonly text: string | null }) =>
  text !== null && (
    <Panel title={title}>
      <p>{text}</p>
    </Panel>
  )

/** Panels beside each other where there is room. */
export const Columns = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.columns}>{children}</div>
)

type Entry = readonly [name: string, value: ReactNode]

const listOf = (className: string | undefined) => (props: { readonly entries: readonly (Entry | false)[] }) => (
  <dl className={className}>
    {props.entries
      .filter((entry) => entry !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

/** Names and values, in columns. An entry that does not apply may be false. */
export const Facts = listOf(styles.facts)

/** A few large numbers in a row. */
export const Figures = listOf(styles.figures)

/** What the service says of something that it accepted all the same. */
export const Warnings = ({ texts }: { readonly texts: readonly string[] }) =>
  texts.map((text) => (
    <p key={text} className={styles.warning}>
      {text}
    </p>
  ))

export const Quiet = ({ children }: { readonly children: ReactNode }) => (
  <span className={styles.quiet}>{children}</span>
)

/** Nothing here yet: says what would be, and the command that makes the first one. */
export const Empty = ({
  title,
  command,
  children,
}: {
  readonly title: string
  readonly command?: string
  readonly children?: ReactNode
}) => (
  <div className={styles.empty}>
    <strong>{title}</strong>
    {children && <p>{children}</p>}
    {command !== undefined && <Command>{command}</Command>}
  </div>
)

/** What went wrong, in the service's own words, and the way to try again. */
export const Problem = ({ error, retry }: { readonly error: Error; readonly retry?: () => unknown }) => (
  <div className={styles.problem} role="alert">
    <span>{error.message}</span>
    {retry && (
      <Button tone="danger" onClick={() => void retry()}>
        Try again
      </Button>
    )}
  </div>
)

export interface Loadable<Data> {
  readonly data: Data | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
}

/** The answer of a query, or what there is to say before it is there. What is in view stays when asking again fails. */
export const Loaded = <Data,>({
  query,
  children,
}: {
  readonly query: Loadable<Data>
  readonly children: (data: Data) => ReactNode
}) => {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null) return <Problem error={query.error} retry={query.refetch} />
  return <div className={styles.loading} role="status" aria-label="Loading" />
}

type PlainButtonProps = ComponentProps<'button'> & { readonly tone?: 'primary' | 'danger' | undefined }

const PlainButton = ({ tone, className, ...rest }: PlainButtonProps) => (
  <button
    type="button"
    {...rest}
    className={[styles.button, tone && styles[tone], className].filter(Boolean).join(' ')}
  />
)

const GuardedButton = ({ needs, ...rest }: PlainButtonProps & { readonly needs: Scope }) => {
  const may = useMay()
  return <PlainButton {...rest} {...(!may(needs) && { disabled: true, title: `This requires the scope ${needs}.` })} />
}

/** `needs`: what who is signed in must be allowed for it to work. */
export const Button = ({ needs, ...rest }: PlainButtonProps & { readonly needs?: Scope }) =>
  needs === undefined ? <PlainButton {...rest} /> : <GuardedButton needs={needs} {...rest} />

/** The row above a list. */
export const Filters = ({ children }: { readonly children: ReactNode }) => (
  <search className={styles.filters}>{children}</search>
)
