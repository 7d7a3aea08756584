import { Link, useLocation } from 'wouter'
import styles from './tabs.module.css'

interface TabsProps {
  readonly label: string
  readonly tabs: readonly (readonly [path: string, name: string])[]
}

/** The pages of an area. The first tab is current at its own path only, the others also at paths below theirs. */
export const Tabs = ({ label, tabs }: TabsProps) => {
  const [location] = useLocation()
  const current = tabs.findLast(([path]) => location === path || location.startsWith(`${path}/`))?.[0]
  return (
    <nav className={styles.tabs} aria-label={label}>
      {tabs.map(([path, name]) => (
        <Link key={path} href={path} aria-current={path === current ? 'page' : undefined}>
          {name}
        </Link>
      ))}
    </nav>
  )
}
