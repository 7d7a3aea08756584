import { CopyButton } from '../../parts/cells.tsx'
import styles from './reference.module.css'

/** Text of a program or an answer, to read and to copy. */
export const Code = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <div className={styles.code}>
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
      tabIndex={0}
    >
      <pre>{text}</pre>
    </section>
    <CopyButton text={text} what={label} />
  </div>
)
