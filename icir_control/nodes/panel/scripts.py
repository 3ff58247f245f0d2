"""Scripts that are served with the page: numbers count as a whole, pictures wait for messages.

viser sends a number after each key. Who types 1.2 would first have sent the arm to 1, and a value
that a node limits or refuses would come back between two keys; of -0.5 the sign would be lost, as
viser writes the -0 on the way there as 0. So a number counts after the Enter key, or once its
field is left.

After each change viser draws for another 0.25 s as often as the display can show pictures, in case
that something arrives late. Without a graphics card that takes a processor and more, which a
simulation at full speed needs for itself. A script lets all that
wants to draw wait for the next message, and without a graphics card for a second. Who moves the
mouse, turns the wheel or types does not wait. Without a graphics card edges are not smoothed,
either: that takes a third of the time to draw.
"""

import gzip
from functools import lru_cache

from websockets.http11 import Response

WHOLE_NUMBERS = """<script>
(() => {
  const write = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const typing = new Map();  // what reads and writes a field while nobody types into it
  function finish(event) {
    const field = event.target, property = typing.get(field);
    if (!property) return;
    typing.delete(field);
    Object.defineProperty(field, 'value', property);
    const number = Number(field.value.replace(',', '.'));
    const isNumber = field.value.trim() && Math.abs(number) < 1e9;
    const text = isNumber ? String(Number(number.toFixed(6))) : field.defaultValue;
    for (const one of ['', text]) {  // what differs from the text before would be taken for typed
      write.call(field, one);
      field.dispatchEvent(new InputEvent('input', {bubbles: true}));
    }
  }
  addEventListener('input', event => {
    const field = event.target;
    if (!event.isTrusted || !field.matches('.mantine-NumberInput-input')) return;
    event.stopPropagation();
    if (typing.has(field)) return;
    const property = Object.getOwnPropertyDescriptor(field, 'value');
    typing.set(field, property);
    Object.defineProperty(field, 'value', {...property, set: () => {}});  // keeps what is typed
  }, true);
  for (const kind of ['change', 'blur']) addEventListener(kind, finish, true);
  addEventListener('keydown', event => {
    if (['Enter', 'ArrowUp', 'ArrowDown'].includes(event.key)) finish(event);
  }, true);
})();
</script>"""


_MARK = 'saves-pictures'
SAVING = f'<i id="{_MARK}"></i>'
"""What a page has to contain so that it saves pictures."""

_SCRIPT = f"""<script>
(() => {{
  const probe = document.createElement('canvas').getContext('webgl2');
  const names = probe?.getExtension('WEBGL_debug_renderer_info');
  const renderer = names ? probe.getParameter(names.UNMASKED_RENDERER_WEBGL) : '';
  probe?.getExtension('WEBGL_lose_context')?.loseContext();
  const isSoftware = /swiftshader|llvmpipe|softpipe|software|basic render/i.test(renderer);
  if (isSoftware) {{
    const original = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, options) {{
      return original.call(this, kind, {{...options, antialias: false}});
    }};
  }}

  const request = window.requestAnimationFrame.bind(window);
  const longest = 1000, least = isSoftware ? longest : 0;  // ms between pictures
  const patience = 500;  // ms after the last touch
  let waiting = new Map(), due = new Map();  // callbacks, by number
  let count = 0, last = 0, touched = 0, timer = 0, isRequested = false, isNew = false;
  function draw(time) {{
    [isRequested, isNew, last] = [false, false, performance.now()];
    [due, waiting] = [waiting, new Map()];
    for (const callback of due.values()) {{  // one may cancel another
      try {{ callback(time); }} catch (error) {{ reportError(error); }}
    }}
  }}
  function schedule() {{
    clearTimeout(timer);
    if (!waiting.size || isRequested) return;
    const now = performance.now();
    const saves = now > touched + patience && document.getElementById('{_MARK}');
    const left = saves ? last + (isNew ? least : longest) - now : 0;
    isRequested = left <= 0;
    if (isRequested) request(draw); else timer = setTimeout(schedule, left);
  }}
  window.requestAnimationFrame = callback => {{
    waiting.set(++count, callback);
    schedule();
    return count;
  }};
  window.cancelAnimationFrame = number => waiting.delete(number) || due.delete(number);
  for (const kind of ['pointerdown', 'pointermove', 'wheel', 'keydown']) {{
    addEventListener(kind, () => {{
      touched = performance.now();
      schedule();
    }}, {{capture: true, passive: true}});
  }}
  window.Worker = class extends window.Worker {{  // receives the messages
    constructor(...options) {{
      super(...options);
      this.addEventListener('message', () => {{
        isNew = true;
        schedule();
      }});
    }}
  }};
}})();
</script>"""


def add_script(response: Response) -> None:
    """Let a page draw as seldom as `SAVING` says.

    Args:
        response: The answer to a request of any file; of one that is no page nothing changes.
    """
    if not response.headers.get('Content-Type', '').startswith('text/html'):
        return
    is_gzipped = response.headers.get('Content-Encoding') == 'gzip'
    response.body = _with_script(bytes(response.body), is_gzipped)
    del response.headers['Content-Length']
    response.headers['Content-Length'] = str(len(response.body))


@lru_cache
def _with_script(page: bytes, is_gzipped: bool) -> bytes:
    plain = gzip.decompress(page) if is_gzipped else page
    scripts = (_SCRIPT + WHOLE_NUMBERS).encode()
    plain = plain.replace(b'<head>', b'<head>' + scripts, 1)  # before any other script
    return gzip.compress(plain) if is_gzipped else plain
