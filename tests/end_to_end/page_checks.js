// Returns what is wrong with the page's layout and colors, as a list of sentences.
(() => {
  const faults = new Set();
  const luminance = ([r, g, b]) => {
    const part = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const rgba = color => {
    const n = color.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return n.length === 3 ? [...n, 1] : n;
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
  // The color behind an element: its own background over those of its parents.
  const ground = element => {
    if (!element) return [255, 255, 255];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, ground(element.parentElement));
  };
  // The color behind a text of a chart: the last rectangle before the text that contains its center.
  const chart_ground = text => {
    const at = text.getBoundingClientRect();
    const [x, y] = [at.x + at.width / 2, at.y + at.height / 2];
    let color = ground(text);
    for (const shape of text.closest("svg").querySelectorAll("rect")) {
      const box = shape.getBoundingClientRect();
      const is_after = text.compareDocumentPosition(shape) & Node.DOCUMENT_POSITION_FOLLOWING;
      if (is_after || x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
      const [r, g, b, a] = rgba(getComputedStyle(shape).fill);
      let opacity = a;
      for (let e = shape; e.tagName !== "svg"; e = e.parentElement)
        opacity *= parseFloat(getComputedStyle(e).opacity);
      color = over([r, g, b, opacity], color);
    }
    return color;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ["STYLE", "title"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const color = rgba(element.closest("svg") ? style.fill : style.color);
    const below = element.closest("svg") ? chart_ground(element) : ground(element);
    const ratio = contrast(over(color, below), below);
    const name = `${element.tagName}.${element.getAttribute("class") ?? ""} "${node.data.trim().slice(0, 30)}"`;
    if (ratio < 3) faults.add(`${name}: contrast ${ratio.toFixed(2)}`);
    if (parseFloat(style.fontSize) < 9) faults.add(`${name}: font size ${style.fontSize}`);
  }
  const extra = document.documentElement.scrollWidth - window.innerWidth;
  if (extra > 0) faults.add(`the page is ${extra} pixels wider than the window`);
  // Texts of a chart must be within its figure, and must not cover each other.
  for (const svg of document.querySelectorAll("svg")) {
    const figure = (svg.closest("figure") ?? svg).getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(text => text.textContent.trim());
    const boxes = texts.map(text => text.getBoundingClientRect());
    boxes.forEach((box, i) => {
      const outside = Math.max(figure.left - box.left, box.right - figure.right);
      if (svg.closest("figure")?.scrollWidth === svg.closest("figure")?.clientWidth && outside > 1)
        faults.add(`"${texts[i].textContent}" is ${outside.toFixed(0)} pixels outside its figure`);
      for (let j = 0; j < i; ++j) {
        const wide = Math.min(box.right, boxes[j].right) - Math.max(box.left, boxes[j].left);
        const high = Math.min(box.bottom, boxes[j].bottom) - Math.max(box.top, boxes[j].top);
        if (wide > 2 && high > 0.4 * Math.min(box.height, boxes[j].height))
          faults.add(`"${texts[i].textContent}" covers "${texts[j].textContent}"`);
      }
    });
  }
  return [...faults];
})()
