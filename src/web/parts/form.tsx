import { type ComponentProps, type ReactNode, useId } from 'react'
import styles from './form.module.css'

/** Fields of a form below each other, or beside each other in a `FieldRow`. */
export const Fields = ({ children }: { readonly children: ReactNode }) => (
  <div className={styles.fields}>{children}</div>
)

export const FieldRow = ({ children }: { readonly children: ReactNode }) => <div className={styles.row}>{children}</div>

type InputProps<Value> = Omit<ComponentProps<'input'>, 'value' | 'onChange'> & {
  readonly label: string
  readonly value?: Value
  readonly onChange?: (value: Value) => void
}

export const TextField = ({ label, hint, onChange, ...rest }: InputProps<string> & { readonly hint?: string }) => {
  const id = useId()
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        autoComplete="off"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        {...rest}
        onChange={onChange && ((event) => onChange(event.target.value))}
      />
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
}: Required<Pick<InputProps<number>, 'value' | 'onChange'>> & InputProps<number> & { readonly unit?: string }) => (
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

/** The shell's `/` goes to the field that says `data-search`. */
export const SearchField = ({ label, onChange, ...rest }: InputProps<string>) => (
  <input
    {...rest}
    type="search"
    data-search=""
    aria-label={label}
    placeholder={label}
    className={styles.bare}
    onChange={onChange && ((event) => onChange(event.target.value))}
  />
)

interface SelectProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: readonly (readonly [value: Value, label: string])[]
  readonly onChange: (value: Value) => void
}

/** A select by itself, as in the row above a list. */
export const Choice = <Value extends string>({ label, value, options, onChange }: SelectProps<Value>) => (
  <select
    aria-label={label}
    className={styles.bare}
    value={value}
    onChange={(event) => onChange(event.target.value as Value)}
  >
    {options.map(([option, name]) => (
      <option key={option} value={option}>
        {name}
      </option>
    ))}
  </select>
)

export const SelectField = <Value extends string>(props: SelectProps<Value>) => (
  // biome-ignore lint/a11y/noLabelWithoutControl: the select in it is Choice's
  <label className={styles.field}>
    <span>{props.label}</span>
    <Choice {...props} />
  </label>
)

/** Options for `names`, after one for all of them: `choices('Any status', ['active'])`. */
export const choices = (any: string, names: readonly string[]): readonly (readonly [string, string])[] => [
  ['', any],
  ...names.map((name) => [name, name.replaceAll('_', ' ')] as const),
]

/** What may be typed into the text field whose `list` is `id`. */
export const Suggestions = ({ id, values }: { readonly id: string; readonly values: readonly string[] }) => (
  <datalist id={id}>
    {values.map((value) => (
      <option key={value} value={value} />
    ))}
  </datalist>
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
