import { type ComponentProps, type ReactNode, useId } from 'react'
import styles from './form.module.css'

/** Fields of a form below each other, or beside each other in a `FieldRow`. */
export const Fields = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.fields}>{children}</div>
)

export const FieldRow = ({ children }: { readonly children: ReactNode }) => <div className={styles.row}>{children}</div>

export const TextField = ({
  label,
  hint,
  ...rest
}: ComponentProps<'input'> & { readonly label: string; readonly hint?: string }) => {
  const id = useId()
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <input id={id} autoComplete="off" aria-describedby={hint === undefined ? undefined : `${id}-hint`} {...rest} />
      {hint && <small id={`${id}-hint`}>{hint}</small>}
    </div>
  )
}

/** A number within `min` and `max`; what is typed stays text until the form is sent. */
export const NumberField = ({
  label,
  unit,
  value,
  onChange,
  ...rest
}: Omit<ComponentProps<'input'>, 'value' | 'onChange'> & {
  readonly label: string
  readonly unit?: string
  readonly value: number
  readonly onChange: (value: number) => void
}) => (
  <label className={styles.field}>
    <span>
      {label}
      {unit && `, ${unit}`}
    </span>
    <input
      {...rest}
      type="number"
      required
      value={Number.isNaN(value) ? '' : value}
      onChange={(event) => onChange(event.target.valueAsNumber)}
    />
  </label>
)

export const SelectField = <Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [value: Value, label: string])[]
  readonly onChange: (value: Value) => void
}) => (
  <label className={styles.field}>
    <span>{label}</span>
    <select value={value} onChange={(event) => onChange(event.target.value as Value)}>
      {options.map(([option, name]) => (
        <option key={option} value={option}>
          {name}
        </option>
      ))}
    </select>
  </label>
)

export const CheckField = ({
  label,
  checked,
  onChange,
}: {
  readonly label: ReactNode
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}) => (
  <label className={styles.check}>
    <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
    <span>{label}</span>
  </label>
)

/** What will come of the form as it stands, told before it is sent. */
export const Outcome = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.outcome} role="status">
    {children}
  </div>
)
