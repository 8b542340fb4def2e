"""The authoring room: how skills change and how nothing is lost."""
