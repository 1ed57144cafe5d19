import Testing

@testable import CDXcode

struct MarkupReaderTests {
  private func read(_ text: String) throws(MarkupError) -> MarkupElement {
    try MarkupReader.read(Array(text.utf8))
  }

  @Test func elementsAttributesAndTextComeOutWithTheirPlaces() throws {
    let root = try read(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://a.example/P[1].dtd">
      <!-- a remark --><a b="1 &lt; &#x32; &amp;amp;" c='"'>x<![CDATA[<&]]>y
        <d/></a>
      """)
    #expect(root["b"] == "1 < 2 &amp;")
    #expect(root["c"] == "\"")
    #expect(root.text == "x<&y\n  ")
    #expect(root.children.map(\.name) == ["d"])
    #expect((root.children[0].line, root.children[0].column) == (4, 3))
  }

  @Test(arguments: [
    ("", "no element"), ("<a>", "cut short"), ("<a></b>", "is to be closed"),
    ("<a/><b/>", "follows the root"),
    ("<a b='1' b='2'/>", "is repeated"), ("<a b=1/>", "not quoted"), ("<a>&undefined;</a>", "not defined"),
    ("<a>&#+65;</a>", "not defined"), ("<a>&#x+41;</a>", "not defined"), ("<a>&#-1;</a>", "not defined"),
    ("<a>&#0;</a>", "not a character"), ("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "declarations"),
    ("<a b='<'/>", "does not end"), ("<?xml version='1.0' encoding='UTF-16'?><a/>", "UTF-8"),
    ("<a>\u{1}</a>", "control character"), ("<a b='1'c='2'/>", "blank"), ("bplist00", "not XML"),
  ])
  func whatIsNotWellFormedIsRefused(_ text: String, _ reason: String) {
    let error = #expect(throws: MarkupError.self) { try read(text) }
    #expect(error?.message.contains(reason) ?? false, "\(error?.message ?? "")")
  }

  @Test func nestingWithoutEndIsRefused() {
    let text = String(repeating: "<a>", count: 100_000)
    let error = #expect(throws: MarkupError.self) { try read(text) }
    #expect(error?.message.contains("levels deep") ?? false)
  }

  @Test func everyTruncationAndEveryChangedByteIsReadOrRefused() {
    let text = #"<?xml version="1.0"?><m a="1"><e n="x &amp; y"><!-- c --><f/>t</e></m>"#
    let bytes = Array(text.utf8)
    for end in bytes.indices {
      #expect(throws: MarkupError.self) { try MarkupReader.read(Array(bytes[..<end])) }
      for replacement in [UInt8(0), 0x26, 0x3C, 0x3E, 0x22, 0xC3, 0xFF] {
        var changed = bytes
        changed[end] = replacement
        _ = try? MarkupReader.read(changed)
      }
    }
  }

  @Test func whatIsWrittenReadsBack() throws {
    var element = MarkupElement(
      "a", [("b", "1 < 2 & \"3\"\n\té"), ("c", nil)], children: [MarkupElement("d")])
    element.children[0].text = "x > y & z"
    let back = try read(MarkupText.document(element))
    #expect(back["b"] == "1 < 2 & \"3\"\n\té")
    #expect(back.children[0].text == "x > y & z")
  }
}
