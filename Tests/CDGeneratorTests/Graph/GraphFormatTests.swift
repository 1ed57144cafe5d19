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
}
