"""Hooks of mkdocs: warnings, so failures of `mkdocs build --strict`, that mkdocs 1.4 does not have itself; and code in
sentences and tables that breaks at spaces only."""
import logging
import pathlib
import re
import urllib.parse

LOG = logging.getLogger('mkdocs.hooks.cortado')


def on_nav(nav, config, files):
    """Every page is in the navigation."""
    for file in files.documentation_pages():
        if file.page not in nav.pages:
            LOG.warning('%s is not in the nav of mkdocs.yml', file.src_path)


def on_page_content(html, page, config, files):
    """Marks the words of code that a browser would break at hyphens; docs/site.css keeps them whole. Removes the
    backslash of \\| from code in tables, as GitHub does."""
    html = re.sub(r'<td.*?</td>', lambda cell: cell.group().replace('\\|', '|'), html, flags=re.DOTALL)
    def mark(code):
        return '<code>%s</code>' % re.sub(r'[^\s]*-[^\s]*', lambda word: word.group() if len(word.group()) > 36 else
                                          '<span class="word">%s</span>' % word.group(), code.group(1))
    return re.sub(r'<code>([^<\n]*-[^<\n]*)</code>', mark, html)


def on_post_build(config):
    """Every link leads to a file, and to an anchor in it; pages load nothing from other servers."""
    root = pathlib.Path(config['site_dir'])
    texts = {path: path.read_text(encoding='utf-8') for path in root.glob('*.html') if path.name != '404.html'}
    anchors = {path: set(re.findall(r'\bid="([^"]*)"', text)) for path, text in texts.items()}
    for page, text in texts.items():
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            address = urllib.parse.urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = (page.parent / urllib.parse.unquote(address.path)).resolve() if address.path else page
            if target.is_dir():
                target /= 'index.html'
            if not target.exists():
                LOG.warning('%s: the link %s leads to no file', page.name, link)
            elif address.fragment and address.fragment not in anchors.get(target, {address.fragment}):
                LOG.warning('%s: the link %s leads to no anchor', page.name, link)
        for tag in re.findall(r'<(?:script|link|img)\b[^>]*\b(?:src|href)="(?:https?:)?//[^>]*>', text):
            LOG.warning('%s: loads from another server: %s', page.name, tag)
