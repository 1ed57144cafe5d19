import CDGenerator
import CDModel
import Testing

@testable import cdgen_graph

@Suite struct SVGWriterTests {
  @Test func svg() {
    let version = ModelVersion(
      number: 1,
      entities: [
        EntityDescription(
          name: "A", attributes: [.init(name: "x", type: .codable(type: "Set<Int>", codec: 1))],
          relationships: [.init(name: "b", destination: "B", isOptional: false, inverse: "a")]),
        EntityDescription(name: "B", relationships: [.init(name: "a", destination: "A", inverse: "b")]),
      ])
    #expect(
      SVGWriter.text(of: Diagram(version, named: "A & B")) == """
        <svg xmlns="http://www.w3.org/2000/svg" width="291" height="152" viewBox="0 0 291 152" font-size="12" \
        font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace">
        <title>A &amp; B, version 1</title>
        <rect width="291" height="152" fill="#ffffff"/>
        <text x="24" y="32" font-size="15" font-weight="bold" fill="#1f2328">A &amp; B, version 1</text>
        <g transform="translate(24 58)">
        <path d="M100 58H100H187H187" fill="none" stroke="#57606a"/>
        <path d="M106 53V63" fill="none" stroke="#57606a"/>\
        <circle cx="111" cy="58" r="3.5" fill="#ffffff" stroke="#57606a"/>
        <path d="M181 53V63M177 53V63" fill="none" stroke="#57606a"/>
        <g transform="translate(0 0)">
        <rect width="100" height="70" rx="4" fill="#ffffff"/>
        <path d="M0 27V4a4 4 0 0 1 4 -4H96a4 4 0 0 1 4 4V27z" fill="#ddf4ff"/>
        <rect width="100" height="70" rx="4" fill="none" stroke="#57606a"/>
        <text x="10" y="18" font-size="13" font-weight="bold" fill="#1f2328">A</text>
        <path d="M0 27H100" stroke="#57606a"/>
        <text y="43"><tspan x="10" fill="#1f2328">x</tspan><tspan x="31" fill="#116329">Set&lt;Int&gt;</tspan></text>
        <text y="62"><tspan x="10" fill="#1f2328">b</tspan><tspan x="31" fill="#0550ae">B</tspan></text>
        </g>
        <g transform="translate(187 19)">
        <rect width="56" height="51" rx="4" fill="#ffffff"/>
        <path d="M0 27V4a4 4 0 0 1 4 -4H52a4 4 0 0 1 4 4V27z" fill="#ddf4ff"/>
        <rect width="56" height="51" rx="4" fill="none" stroke="#57606a"/>
        <text x="10" y="18" font-size="13" font-weight="bold" fill="#1f2328">B</text>
        <path d="M0 27H56" stroke="#57606a"/>
        <text y="43"><tspan x="10" fill="#1f2328">a</tspan><tspan x="31" fill="#0550ae">A?</tspan></text>
        </g>
        </g>
        </svg>

        """)
  }
}
