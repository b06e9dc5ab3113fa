"""What a page must have for people who do not see it, or use no mouse: the checks of axe-core that fail most often,
written for a real browser.

assert page.run(FAULTS) == []
"""

from __future__ import annotations

from typing import Final

FAULTS: Final = r"""
(() => {
  const faults = [], all = (selector) => [...document.querySelectorAll(selector)];
  const visible = (e) => e.getClientRects().length && getComputedStyle(e).visibility === 'visible';
  const label = (e) => (e.ariaLabel || e.textContent || e.title || e.alt || '').trim();
  const said = (e) => `${e.tagName.toLowerCase()}${e.className ? '.' + e.className : ''}: ${label(e).slice(0, 40)}`;

  if (!document.documentElement.lang) faults.push('the page has no language');
  if (!document.title) faults.push('the page has no title');
  if (all('main').length !== 1) faults.push('there is not one main');
  if (all('h1').length !== 1) faults.push('there is not one h1');
  let before = 0;
  for (const e of all('h1, h2, h3, h4, h5, h6')) {
    const level = Number(e.tagName[1]);
    if (level > before + 1) faults.push(`a heading is left out before ${said(e)}`);
    if (!label(e)) faults.push(`an empty heading: ${said(e)}`);
    before = level;
  }
  for (const e of all('nav')) if (!e.ariaLabel) faults.push('a nav has no name');
  for (const e of all('a[href], button, summary')) if (!label(e)) faults.push(`no name: ${e.outerHTML.slice(0, 80)}`);
  for (const e of all('input:not([type=hidden]), select, textarea'))
    if (!e.labels.length && !e.ariaLabel) faults.push(`no label: ${e.name}`);
  for (const e of all('img')) if (!e.hasAttribute('alt')) faults.push(`no alternative: ${e.src}`);
  for (const e of all('iframe')) if (!e.title) faults.push('a frame has no title');
  for (const e of all('svg')) if (!e.ariaHidden && !(e.getAttribute('role') === 'img' && e.ariaLabel))
    faults.push('a drawing says nothing and is not hidden');
  for (const e of all('th')) if (!e.scope) faults.push(`no scope: ${said(e)}`);
  for (const e of all('[tabindex]')) if (e.tabIndex > 0) faults.push(`the order of tabs is changed by ${said(e)}`);
  for (const e of all('.wide')) if (e.tabIndex < 0 || !e.ariaLabel) faults.push('a table cannot be scrolled by keys');
  const ids = all('[id]').map((e) => e.id);
  if (new Set(ids).size !== ids.length) faults.push('an id occurs twice');

  // Contrast as WCAG has it: 4.5 for texts, 3 for large ones.
  const parts = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const c = parts(getComputedStyle(at).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const seen = new Set();
  for (const e of all('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !visible(e) || e.closest('svg, option')) continue;
    const style = getComputedStyle(e), size = parseFloat(style.fontSize);
    const [one, other] = [light(parts(style.color)), light(behind(e))].sort((a, b) => b - a);
    const large = size >= 24 || (size >= 18.7 && style.fontWeight >= 700);
    const ratio = (one + 0.05) / (other + 0.05), least = large ? 3 : 4.5;
    if (ratio < least && !seen.has(e.className + e.tagName)) {
      seen.add(e.className + e.tagName);
      faults.push(`contrast ${ratio.toFixed(2)} of ${said(e)}`);
    }
  }
  return faults;
})()
"""
