import CDGenerator
import CDModel
import Testing

@Suite struct GraphFormatTests {
  /// One of everything a diagram shows.
  static let library = ModelVersion(
    number: 3, label: "Autumn",
    enums: [
      EnumDescription(
        name: "Mood", rawType: .string,
        cases: [.init(name: "good", rawValue: .string("g")), .init(name: "bad", rawValue: .string("b"))])
    ],
    composites: [
      CompositeDescription(
        name: "Address",
        fields: [.init(name: "street", type: .string), .init(name: "city", type: .string, isOptional: true)])
    ],
    entities: [
      EntityDescription(
        name: "Work", isAbstract: true, attributes: [.init(name: "title", type: .string)],
        relationships: [.init(name: "author", destination: "Author", isOptional: false, inverse: "works")]),
      EntityDescription(
        name: "Book", parent: "Work",
        attributes: [
          .init(name: "isbn", type: .string),
          .init(name: "pk", type: .int64),
          .init(name: "größe", type: .double, isOptional: true),
          .init(name: "style", type: .codable(type: "[App.Style]", codec: 1), isOptional: true),
          .init(name: "draft", type: .bool, isTransient: true),
        ],
        relationships: [
          .init(name: "sequel", destination: "Book"),
          .init(
            name: "readers", destination: "Author", isToMany: true, isOptional: false, inverse: "reads",
            deleteRule: .deny, isOrdered: true),
        ],
        uniquenessConstraints: [["isbn"], ["pk", "größe"]]),
      EntityDescription(
        name: "Author", attributes: [.init(name: "mood", type: .enumeration("Mood"))],
        relationships: [
          .init(name: "works", destination: "Work", isToMany: true, inverse: "author"),
          .init(name: "reads", destination: "Book", isToMany: true, inverse: "readers"),
          .init(name: "spouse", destination: "Author", inverse: "spouse"),
        ]),
    ])

  @Test func mermaid() {
    #expect(
      GraphFormat.mermaid.text(of: Self.library, named: "Library") == """
        ---
        title: "Library, version 3 (Autumn)"
        ---
        erDiagram
          "Work" {
            String title
          }
          "Book" {
            String isbn UK
            Int64 pk_ "pk, unique with größe"
            Double gr__e "größe, optional, unique with pk"
            _[App_Style] style "[App.Style]?"
            Bool draft "transient"
          }
          "Author" {
            Mood mood
          }
          "Address" {
            String street
            String city "optional"
          }
          "Mood" {
            case good "'g'"
            case bad "'b'"
          }
          "Work" ||..o| "Book" : "is parent of"
          "Work" }o--|| "Author" : "author / works"
          "Book" }o..o| "Book" : "sequel"
          "Book" }o--|{ "Author" : "readers / reads"
          "Author" |o--o| "Author" : "spouse"

        """)
  }

  @Test func dot() {
    let table = """
      <TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4" COLOR="#57606a">
      """
    let version = ModelVersion(
      number: 1,
      entities: [
        EntityDescription(
          name: "ToDo", attributes: [.init(name: "name", type: .string)],
          relationships: [.init(name: "category", destination: "Category", inverse: "toDos")]),
        EntityDescription(
          name: "Category", isAbstract: true,
          relationships: [
            .init(
              name: "toDos", destination: "ToDo", isToMany: true, inverse: "category", isOrdered: true,
              minimumCount: 1)
          ]),
        EntityDescription(
          name: "Inbox", parent: "Category", relationships: [.init(name: "next", destination: "ToDo")]),
      ])
    #expect(
      GraphFormat.dot.text(of: version, named: "To\"Do\\") == """
        digraph {
          graph [rankdir=LR, nodesep=0.4, ranksep=0.9, fontname="Helvetica", labelloc=t, label="To\\"Do\\\\, version 1"]
          node [shape=plain, fontname="Helvetica", fontsize=11]
          edge [dir=both, color="#57606a"]
          n0 [label=<
            \(table)
            <TR><TD PORT="h" BGCOLOR="#ddf4ff"><B>ToDo</B></TD></TR>
            <TR><TD PORT="r0" ALIGN="LEFT">name: String</TD></TR>
            <TR><TD PORT="r1" ALIGN="LEFT">category: Category?</TD></TR>
            </TABLE>
          >]
          n1 [label=<
            \(table)
            <TR><TD PORT="h" BGCOLOR="#eaeef2"><B>Category</B>  <I>abstract</I></TD></TR>
            <TR><TD PORT="r0" ALIGN="LEFT">toDos: [ToDo]  <I>ordered</I></TD></TR>
            </TABLE>
          >]
          n2 [label=<
            \(table)
            <TR><TD PORT="h" BGCOLOR="#ddf4ff"><B>Inbox</B></TD></TR>
            <TR><TD PORT="r0" ALIGN="LEFT">next: ToDo?</TD></TR>
            </TABLE>
          >]
          n1:h -> n2:h [arrowtail=empty, arrowhead=none]
          n0:r1 -> n1:r0 [arrowtail=crowtee, arrowhead=teeodot]
          n2:r0 -> n0:h [arrowtail=crowodot, arrowhead=teeodot, style=dashed]
        }

        """)
  }

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
      GraphFormat.svg.text(of: version, named: "A & B") == """
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
