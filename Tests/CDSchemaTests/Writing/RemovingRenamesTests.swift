import CDSchema
import Testing

@Suite("A version's copy")
struct RemovingRenamesTests {
  @Test("loses its renames and nothing else")
  func everyForm() {
    let text = """
      # A comment that stays.
      composites:
        Place: { zip: { renamedFrom: code, type: String } }
        Long: { fields: { zip: { type: String, renamedFrom: code } } }
      entities:
        Book:   # a comment
          renamedFrom: Volume     # why
          doc: "renamedFrom: is kept here"
          attributes:
            title: { type: String, renamedFrom: name }
            name: { renamedFrom: title, type: String, doc: x }   # swapped
            isbn:
              type: String
              renamedFrom: >-
                code
            pages: { type: Int64, # as printed
              renamedFrom: count }
            size: {
              renamedFrom: length,   # in bytes
              type: Int64
            }
          relationships:
            author: { to: Author?, renamedFrom: "writer", inverse: none }
        Author:
          renamedFrom: Writer
        Other: { renamedFrom: Another }
        Last: { attributes: { renamedFrom: String } }

      """
    let expected = """
      # A comment that stays.
      composites:
        Place: { zip: { type: String } }
        Long: { fields: { zip: { type: String } } }
      entities:
        Book:   # a comment
          doc: "renamedFrom: is kept here"
          attributes:
            title: { type: String }
            name: { type: String, doc: x }   # swapped
            isbn:
              type: String
            pages: { type: Int64, # as printed
               }
            size: {
              type: Int64
            }
          relationships:
            author: { to: Author?, inverse: none }
        Author:
        Other: {  }
        Last: { attributes: { renamedFrom: String } }

      """
    #expect(VersionFile.removingRenames(from: text) == expected)
  }

  @Test("a composite may have a field called fields", arguments: ["String", "{ type: String }"])
  func fieldCalledFields(type: String) {
    let text = """
      composites:
        Form:
          fields: \(type)
          a: { type: Int64, renamedFrom: b }
          b: { type: Int64, renamedFrom: a }

      """
    let expected = """
      composites:
        Form:
          fields: \(type)
          a: { type: Int64 }
          b: { type: Int64 }

      """
    #expect(VersionFile.removingRenames(from: text) == expected)
    let renamed = text.replacing("fields: \(type)", with: "fields: { type: String, renamedFrom: text }")
    let copy = expected.replacing("fields: \(type)", with: "fields: { type: String }")
    #expect(VersionFile.removingRenames(from: renamed) == copy)
  }

  @Test("a text without renames stays as it is")
  func nothingToDo() {
    let text = "entities:\r\n  Book: {attributes: {a: String}}  # é\r\n\r\n"
    #expect(VersionFile.removingRenames(from: text) == text)
  }

  @Test("a text that is not YAML stays as it is")
  func notYAML() {
    let text = "entities: { Book: { renamedFrom: x"
    #expect(VersionFile.removingRenames(from: text) == text)
    #expect(VersionFile.removingRenames(from: "") == "")
  }

  @Test("the copy loads, without what spoke of the version before")
  func copyLoads() {
    let text = """
      entities:
        Book: { renamedFrom: Volume, attributes: { title: { type: String, renamedFrom: name } } }

      """
    #expect(load(version: text).diagnostics.count == 2)
    #expect(load(version: VersionFile.removingRenames(from: text)).diagnostics == [])
  }
}
