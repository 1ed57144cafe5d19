import CDModel
import CDSchema
import CDXcode
import Foundation

/// A model of Xcode's with all that Core Data's layout has, in two versions.
enum ShelfModel {
  static func element(_ version: Int) -> String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="21754"
        systemVersion="22A1" minimumToolsVersion="Automatic" sourceLanguage="Swift"
        userDefinedModelVersionIdentifier="shelf-\(version)">
      <entity name="Author" representedClassName="Author">
        <attribute name="name" attributeType="String"/>
        <attribute name="birth" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
        \(version == 1 ? "" : #"<attribute name="country" optional="YES" attributeType="String"/>"#)
        <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify" ordered="YES"
            destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
        <relationship name="friends" optional="YES" toMany="YES" deletionRule="Nullify"
            destinationEntity="Author" inverseName="friends" inverseEntity="Author"/>
        <relationship name="passport" optional="YES" maxCount="1" deletionRule="Nullify"
            destinationEntity="Passport" inverseName="holder" inverseEntity="Passport"/>
      </entity>
      <entity name="Item" representedClassName="Item" isAbstract="YES">
        <attribute name="title" attributeType="String"/>
        <attribute name="_rank" optional="YES" attributeType="Integer 32" usesScalarValueType="NO"/>
      </entity>
      <entity name="Book" representedClassName="Book" parentEntity="Item">
        <attribute name="pages" attributeType="Integer 32" defaultValueString="7" usesScalarValueType="YES"/>
        <attribute name="note" optional="YES" attributeType="String"/>
        <attribute name="draft" optional="YES" transient="YES" attributeType="String"/>
        <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify"
            destinationEntity="Author" inverseName="books" inverseEntity="Author"/>
        <relationship name="sequel" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Item"/>
        <relationship name="tags" optional="YES" toMany="YES" deletionRule="Nullify" ordered="YES"
            destinationEntity="Tag" inverseName="books" inverseEntity="Tag"/>
      </entity>
      <entity name="Magazine" representedClassName="Magazine" parentEntity="Item">
        <attribute name="issue" optional="YES" attributeType="Integer 16" usesScalarValueType="NO"/>
        <attribute name="note" optional="YES" attributeType="String"/>
      </entity>
      <entity name="Passport" representedClassName="Passport">
        <attribute name="number" attributeType="String"/>
        <relationship name="holder" maxCount="1" deletionRule="Nullify"
            destinationEntity="Author" inverseName="passport" inverseEntity="Author"/>
      </entity>
      <entity name="Sample" representedClassName="Sample">
        <attribute name="flag" optional="YES" attributeType="Boolean" usesScalarValueType="NO"/>
        <attribute name="small" optional="YES" attributeType="Integer 16" usesScalarValueType="NO"/>
        <attribute name="middle" optional="YES" attributeType="Integer 32" usesScalarValueType="NO"/>
        <attribute name="large" optional="YES" attributeType="Integer 64" usesScalarValueType="NO"/>
        <attribute name="single" optional="YES" attributeType="Float" usesScalarValueType="NO"/>
        <attribute name="twice" optional="YES" attributeType="Double" usesScalarValueType="NO"/>
        <attribute name="price" optional="YES" attributeType="Decimal"/>
        <attribute name="made" optional="YES" attributeType="Date" usesScalarValueType="NO"/>
        <attribute name="text" optional="YES" attributeType="String"/>
        <attribute name="blob" optional="YES" attributeType="Binary"/>
        <attribute name="code" optional="YES" attributeType="UUID" usesScalarValueType="NO"/>
        <attribute name="link" optional="YES" attributeType="URI"/>
        <attribute name="color" optional="YES" attributeType="Transformable"
            valueTransformerName="NSSecureUnarchiveFromData" customClassName="UIColor"/>
        <attribute name="words" optional="YES" attributeType="Transformable"
            valueTransformerName="NSSecureUnarchiveFromData" customClassName="[String]"/>
        <attribute name="scan" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
      </entity>
      <entity name="Tag" representedClassName="Tag">
        <attribute name="name" attributeType="String"/>
        <relationship name="books" optional="YES" toMany="YES" deletionRule="Nullify"
            destinationEntity="Book" inverseName="tags" inverseEntity="Book"/>
      </entity>
    </model>
    """
  }

  private static let id = UUID(uuid: (11, 11, 45, 82, 142, 90, 79, 11, 158, 12, 125, 91, 13, 47, 106, 17))

  /// The model of some of the versions.
  static func model(_ texts: [String] = [element(1), element(2)]) throws -> ManagedObjectModel {
    let versions = texts.enumerated().map { place, text in
      XcodeBundle.Version(
        name: place == 0 ? "Shelf" : "Shelf \(place + 1)", path: "Shelf \(place + 1)",
        contents: Array(text.utf8))
    }
    let bundle = XcodeBundle(name: "Shelf", path: "Shelf.xcdatamodeld", versions: versions)
    let result = XcodeImporter(bundle).run(id: id)
    guard let model = result.model else {
      throw PlainDatabase.Failure(message: result.diagnostics.map(\.description).joined(separator: "\n"))
    }
    return model
  }
}
