import CDModel
import CDSchema
import CDXcode
import Foundation
import Testing

/// What Xcode lets a model say and few models do. Whatever it is, the result is a model without mistakes, and nothing
/// is gone when it is exported.
@Suite("Odd models") struct OddModelTests {
  private func imported(_ body: String) throws -> (version: ModelVersion, messages: [String]) {
    let result = ImportTests.run([("Shop", body)])
    let loaded = ImportTests.load(result)
    #expect(!loaded.hasErrors, "\(loaded.diagnostics.filter { $0.severity == .error })")
    #expect(loaded.unprovenModel == result.model)
    return (try #require(result.model?.versions.first), result.diagnostics.map(\.message))
  }

  @Test func aCompositeCanBeCalledAsAnEntityOrItsClass() throws {
    let (version, messages) = try imported(
      """
      <entity name="Person" representedClassName=".Human">
        <attribute name="home" optional="YES" attributeType="Composite" composite="Person"/>
        <attribute name="work" optional="YES" attributeType="Composite" composite="Human"/>
        <attribute name="day" optional="YES" attributeType="Composite" composite="Date"/>
        <attribute name="other" optional="YES" attributeType="Composite" compositeName="Plain"/>
      </entity>
      <composite name="Person"><attribute name="city" optional="YES" attributeType="String"/></composite>
      <composite name="Human"><attribute name="city" optional="YES" attributeType="String"/></composite>
      <composite name="Date"><attribute name="city" optional="YES" attributeType="String"/></composite>
      <composite name="Plain"><attribute name="city" optional="YES" attributeType="String"/></composite>
      """)
    #expect(version.composites.map(\.name) == ["PersonValue", "HumanValue", "DateValue", "Plain"])
    #expect(
      version.entities[0].attributes.map(\.type) == [
        .composite("PersonValue"), .composite("HumanValue"), .composite("DateValue"), .composite("Plain"),
      ])
    #expect(messages.count { $0.contains("cannot be the name of a type in cdgen") } == 3)
  }

  @Test func fieldsOfCompositesGetNamesThatSwiftTakes() throws {
    let (version, messages) = try imported(
      """
      <entity name="A"/>
      <composite name="Box"><attribute name="self" optional="YES" attributeType="String"/>
        <attribute name="hash" optional="YES" attributeType="String"/>
        <attribute name="class" optional="YES" attributeType="String"/>
        <attribute name="inner" optional="YES" attributeType="Composite" composite="Box"/></composite>
      """)
    #expect(version.composites[0].fields.map(\.swiftName) == ["boxSelf", "boxHash", "class", "inner"])
    // Composites within composites are nothing that the schema language has.
    #expect(version.composites[0].fields[3].type == .data)
    #expect(messages.contains { $0.hasPrefix("field 'inner' of 'Box': cdgen allows no composite here") })
  }

  @Test func namesThatSwiftOrStoresDoNotTakeAreReplaced() throws {
    let names = [
      "description", "self", "init", "Type", "isDeleted", "with space", "1st", "naïve", "a😀", "Name", "name",
    ]
    let (version, _) = try imported(
      "<entity name='Task'>"
        + names.map { "<attribute name='\($0)' optional='YES' attributeType='String'/>" }.joined()
        + "</entity><entity name='task'/><entity name='String'/><entity name='ShopModel'/><entity name='Fields'/>"
    )
    #expect(version.entities.map(\.name) == ["Task", "task_", "String", "ShopModel", "Fields"])
    #expect(
      version.entities[0].attributes.map(\.name) == [
        "description", "self", "init", "Type", "isDeleted", "with_space", "x1st", "naïve", "a_", "Name",
        "name_",
      ])
    #expect(
      version.entities.map(\.swiftName) == [
        "TaskObject", "task_", "StringObject", "ShopModelObject", "Fields",
      ])
  }

  @Test func inheritanceThatIsNoneIsTakenApart() throws {
    let (version, messages) = try imported(
      """
      <entity name="A" parentEntity="B"><attribute name="x" optional="YES" attributeType="String"/></entity>
      <entity name="B" parentEntity="A" isAbstract="YES"><attribute name="x" optional="YES" attributeType="Date"/></entity>
      <entity name="C" parentEntity="Nobody"/>
      <entity name="D" parentEntity="A"><attribute name="x" optional="YES" attributeType="Double"/></entity>
      """)
    #expect(version.entities.map(\.parent) == [nil, "A", nil, "A"])
    #expect(version.entities.map { $0.attributes.map(\.name) } == [["x"], [], [], []])
    #expect(
      messages.contains { $0.contains("inherits from it, so that it becomes an entity without a parent") })
    #expect(messages.contains { $0.contains("there is no entity 'Nobody'") })
  }

  @Test func relationshipsThatCannotBeAreKeptOrMended() throws {
    let (version, messages) = try imported(
      """
      <entity name="A">
        <relationship name="lost" optional="YES" maxCount="1" destinationEntity="Nobody"/>
        <relationship name="nowhere" optional="YES" maxCount="1"/>
        <relationship name="odd" optional="YES" maxCount="1" deletionRule="Bogus" destinationEntity="A"/>
        <relationship name="few" optional="YES" toMany="YES" minCount="3" maxCount="2" destinationEntity="A"/>
        <relationship name="huge" optional="YES" toMany="YES" minCount="99999999999999999999" maxCount="0" destinationEntity="A"/>
        <relationship name="left" optional="YES" maxCount="1" destinationEntity="A" inverseName="right" inverseEntity="A"/>
        <relationship name="right" optional="YES" maxCount="1" destinationEntity="A" inverseName="other" inverseEntity="A"/>
        <relationship name="mirror" optional="YES" toMany="YES" ordered="YES" destinationEntity="A" inverseName="mirror" inverseEntity="A"/>
      </entity>
      """)
    let found = version.entities[0].relationships
    #expect(found.map(\.name) == ["odd", "few", "huge", "left", "right", "mirror"])
    #expect(found.map(\.inverse) == [nil, nil, nil, nil, nil, "mirror"])
    #expect(found.allSatisfy { $0.minimumCount == nil && $0.maximumCount == nil })
    #expect(found[0].deleteRule == .nullify)
    #expect(messages.count { $0.contains("is not a count that can be met") } == 3)
  }

  @Test func whatIsDerivedInAnyFormIsDerivedOrPlain() throws {
    let (version, messages) = try imported(
      """
      <entity name="A"><attribute name="name" optional="YES" attributeType="String"/>
        <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="bs.@count"/>
        <attribute name="sum" optional="YES" attributeType="Double" derived="YES" derivationExpression="bs.weight.@sum"/>
        <attribute name="sum2" optional="YES" attributeType="Double" derived="YES" derivationExpression="bs.@sum.weight"/>
        <attribute name="low" optional="YES" attributeType="String" derived="YES" derivationExpression="lowercase:(name)"/>
        <attribute name="plain" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(name)"/>
        <attribute name="now" optional="YES" attributeType="Date" derived="YES" derivationExpression="now()"/>
        <attribute name="path" optional="YES" attributeType="Double" derived="YES" derivationExpression="b.weight"/>
        <attribute name="broken" optional="YES" attributeType="String" derived="YES" derivationExpression="foo:(bar, )"/>
        <attribute name="none" optional="YES" attributeType="String" derived="YES"/>
        <relationship name="bs" optional="YES" toMany="YES" destinationEntity="B" inverseName="a" inverseEntity="B"/>
        <relationship name="b" optional="YES" maxCount="1" destinationEntity="B"/></entity>
      <entity name="B"><attribute name="weight" optional="YES" attributeType="Double"/>
        <relationship name="a" optional="YES" maxCount="1" destinationEntity="A" inverseName="bs" inverseEntity="A"/></entity>
      """)
    let derived = version.entities[0].attributes.filter { $0.derivation != nil }.map(\.name)
    #expect(Set(derived).isSuperset(of: ["count", "sum2", "low", "plain", "now"]))
    #expect(!derived.contains("broken") && !derived.contains("none"))
    #expect(messages.count { $0.contains("its derivation cannot be read") } == 2)
  }

  /// Foundation's decimals hold some numbers of 39 digits. A model's text has at most 38.
  @Test func decimalsOfTooManyDigitsAreKeptAsTheyAre() throws {
    let most = String(repeating: "12345678", count: 5).prefix(38)
    let (version, messages) = try imported(
      """
      <entity name="A">
        <attribute name="fits" optional="YES" attributeType="Decimal" minValueString="-\(most)" defaultValueString="0.\(most)"/>
        <attribute name="long" optional="YES" attributeType="Decimal" minValueString="-\(most)1" maxValueString="\(most)1.5"/>
        <attribute name="preset" optional="YES" attributeType="Decimal" defaultValueString="0.\(most)1"/>
      </entity>
      """)
    let attributes = version.entities[0].attributes
    #expect(attributes[0].minimum == Decimal(string: "-\(most)").map(AttributeValue.decimal))
    #expect(attributes[0].defaultValue != nil)
    #expect(attributes[1].minimum == nil && attributes[1].maximum == nil)
    #expect(attributes[2].defaultValue == nil)
    #expect(attributes[1].info["xcode.maxValueString"] == "\(most)1.5")
    #expect(messages.count { $0.contains("has more than 38 digits; it is kept under 'info'") } == 2)
  }

  @Test func manyElementsThatAreKeptHaveConsecutiveNumbers() throws {
    let members = (1...2_000).map { "<memberEntity name='M\($0)'/>" }
    let (version, _) = try imported(
      "<entity name='E'/><configuration name='C'><memberEntity name='E'/>\(members.joined())</configuration>")
    let wrong = (1...2_000).filter {
      version.info["xcode.configuration.C.element.\($0)"] != "<memberEntity name=\"M\($0)\"/>"
    }
    #expect(wrong == [])
  }

  @Test func anIndexOrAConstraintThatIsThereTwiceIsReadOnce() throws {
    let (version, messages) = try imported(
      """
      <entity name="E">
        <attribute name="a" optional="YES" attributeType="String"/>
        <attribute name="b" optional="YES" attributeType="String"/>
        <attribute name="c" optional="YES" attributeType="String" indexed="YES"/>
        <attribute name="d" optional="YES" attributeType="String"/>
        <compoundIndexes><compoundIndex><index value="d"/></compoundIndex><compoundIndex><index value="c"/></compoundIndex></compoundIndexes>
        <fetchIndex name="again"><fetchIndexElement property="d" type="Binary" order="ascending"/></fetchIndex>
        <uniquenessConstraints><uniquenessConstraint><constraint value="a"/><constraint value="b"/></uniquenessConstraint><uniquenessConstraint><constraint value="b"/><constraint value="a"/></uniquenessConstraint></uniquenessConstraints>
      </entity>
      """)
    let entity = version.entities[0]
    #expect(entity.indexes.map { $0.elements.map(\.keyPath) } == [["c"], ["d"]])
    #expect(entity.uniquenessConstraints == [["a", "b"]])
    #expect(messages.count { $0.contains("it is there twice") } == 3)
  }

  @Test func everythingOddComesOutAgain() throws {
    let body = """
      <entity name="A" representedClassName="App.A" syncable="NO" elementID="Old" versionHashModifier="2" isAbstract="NO">
        <attribute name="a b" optional="YES" attributeType="Object ID" ubiquityIdentifier="x"/>
        <attribute name="n" attributeType="Decimal" defaultValueString="0,5"/>
        <attribute name="f" attributeType="Double" defaultValueString="nan" maxValueString="inf"/>
        <attribute name="d" attributeType="Date" defaultDateTimeInterval="-978307200.5" maxDateTimeInterval="nan"/>
        <attribute name="b" attributeType="Binary" defaultValueString="AAEC" allowsExternalBinaryDataStorage="YES" minValueString="3"/>
        <attribute name="r" attributeType="String" regularExpressionString="[A-" minValueString="0x1" spotlightIndexingEnabled="YES"/>
        <relationship name="far" optional="YES" maxCount="1" deletionRule="Bogus" destinationEntity="Z"/>
        <fetchedProperty name="p" optional="YES"><fetchRequest name="p" entity="A" predicateString="no (" sortDescriptors="x"/></fetchedProperty>
        <fetchIndex name="i" partialIndexPredicateString="n &gt; 3"><fetchIndexElement expression="n + 1" expressionType="integer 64" type="RTree" order="ascending"/></fetchIndex>
        <uniquenessConstraints><uniquenessConstraint><constraint value="ghost"/></uniquenessConstraint></uniquenessConstraints>
        <compoundIndexes><compoundIndex><index value="ghost"/></compoundIndex></compoundIndexes>
        <userInfo><entry key="k" value="two&#10;lines"/><entry key="k" value="again"/><entry key="" value="d"/></userInfo>
      </entity>
      <fetchRequest name="in" entity="A" predicateString="no (" resultType="1"/>
      <configuration name="Local"><memberEntity name="A"/><memberEntity name="Ghost"/></configuration>
      <strange a="b"><deep/></strange>
      """
    let text = ImportTests.exported(ImportTests.run([("Shop", body)]))
    for piece in body.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
    where piece.offset % 2 == 1 {
      #expect(text.contains("\"\(piece.element)\""), "\(piece.element)")
    }
    #expect(text.contains("<strange a=\"b\"><deep/></strange>") || text.contains("<strange a=\"b\">"))
    // What came out is read as what went in was.
    let again = XcodeBundle(
      name: "Shop", path: "Shop", versions: [.init(name: "Shop", path: "Shop", contents: Array(text.utf8))])
    let second = XcodeImporter(again).run(id: UUID())
    #expect(ImportTests.exported(second) == text)
  }
}
